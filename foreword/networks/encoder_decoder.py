"""EncoderDecoder: one stack reads the source both ways, another writes the target and looks at it. Transformer, T5."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from foreword.networks.base import Inputs, Network, NetworkSpec, Output
from foreword.networks.source_reader import SourceReader
from foreword.parts.attention import KeyValues
from foreword.parts.block import SourceMemory
from foreword.parts.embeddings import Embeddings, widening
from foreword.parts.positions import PositionTable
from foreword.parts.stack import StackSpec
from foreword.parts.visible import CausalPattern, Everywhere
from foreword.tokens.vocabulary import Vocabulary


class EncoderDecoderSpec(StackSpec, NetworkSpec):
    kind: Literal["encoder_decoder"] = "encoder_decoder"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "source", "source_real"})
    abilities: ClassVar[frozenset[str]] = frozenset()  # what its objective names
    context: int  # positions of the source, and of the target
    decoder_layers: int | None = None  # as many as the encoder's by default

    def build(self, vocabulary: Vocabulary) -> EncoderDecoder:
        return EncoderDecoder(self, vocabulary.size)


class DecoderState(NamedTuple):
    """The source as each block of the decoder remembers it, and the target so far."""

    sources: tuple[SourceMemory, ...]
    layers: tuple[KeyValues, ...]


class EncoderDecoder(Network):
    reads = frozenset({"ids", "source", "source_real"})

    def __init__(self, spec: EncoderDecoderSpec, vocabulary: int):
        super().__init__()
        self.spec, self.width, self.context = spec, spec.width, spec.context
        below = spec.model_copy(update={"layers": spec.decoder_layers or spec.layers})
        self.embeddings = Embeddings(spec, vocabulary, both_ways=True)
        self.targets = Embeddings(spec, vocabulary)
        self.targets.tokens = self.embeddings.tokens  # one table for both sides
        self.widen = widening(spec)
        self.encoder, self.decoder = spec.blocks(), below.blocks(cross=True)
        self.encoder_norm, self.norm = spec.last_norm(), spec.last_norm()

    def forward(self, inputs: Inputs, state: DecoderState | None = None) -> Output:
        """`inputs.ids` is the target so far; the source is read once, by the first call."""
        sources = state.sources if state else self.read(inputs)
        before = state.layers[0].keys.size(2) if state else 0
        positions = torch.arange(before, before + inputs.ids.size(1), device=inputs.ids.device)
        x = self.widen(self.targets(inputs.ids, positions))
        where = self.targets.where(positions, before + inputs.ids.size(1))
        layers, seen = [x], []
        for block, source, past in zip(self.decoder, sources, state.layers if state else [None] * len(self.decoder)):
            x, now = block(x, CausalPattern(), past, None, where, source)
            layers.append(x)
            seen.append(now)
        return Output(self.norm(x), tuple(layers), DecoderState(sources, tuple(seen)))

    def read(self, inputs: Inputs) -> tuple[SourceMemory, ...]:
        """The source, as each block of the decoder remembers it."""
        if inputs.source is None:
            raise TypeError("an encoder-decoder needs a source")
        positions = torch.arange(inputs.source.size(1), device=inputs.source.device)
        x = self.widen(self.embeddings(inputs.source, positions))
        where = self.embeddings.where(positions, inputs.source.size(1))
        for block in self.encoder:
            x, _ = block(x, Everywhere(), None, inputs.source_real, where)
        x = self.encoder_norm(x)
        return tuple(block.remember_source(x, inputs.source_real) for block in self.decoder)

    def tables(self) -> dict[str, Tensor]:
        places = {"positions": self.embeddings.positions, "target_positions": self.targets.positions}
        tables = {name: part.weight for name, part in places.items() if isinstance(part, PositionTable)}
        return {"tokens": self.embeddings.tokens.weight, **tables}

    def levels(self) -> list[list[nn.Parameter]]:
        """Those of the target: what reads the source lies below all of them."""
        below = {
            id(p): p
            for part in (self.embeddings, self.targets, self.widen, self.encoder, self.encoder_norm)
            for p in part.parameters()
        }
        return [list(below.values()), *(list(block.parameters()) for block in self.decoder)]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.apply(module)
        if self.spec.initial.tokens is not None:  # a head that shares the table has just drawn it
            self.spec.initial.draw(self.table(), self.spec.initial.tokens)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> SourceReader:
        return SourceReader(self, head, vocabulary, Inputs)
