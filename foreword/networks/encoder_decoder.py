"""EncoderDecoder: one stack reads the source both ways, another writes the target and looks at it. Transformer, T5."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Layers, Size
from foreword.basics.registry import Registry
from foreword.networks.base import Inputs, Network, NetworkSpec, Output
from foreword.networks.prefix import PrefixTransformer
from foreword.networks.source_reader import SourceReader
from foreword.parts import STACKS, VISIBLE
from foreword.parts.attention import KeyValues
from foreword.parts.block import SourceMemory
from foreword.parts.embeddings import Embeddings, widening
from foreword.parts.facts import FactReader
from foreword.parts.positions import PositionTable
from foreword.parts.stack import StackSpec
from foreword.parts.visible import CausalPattern, Dense, FullPattern, VisibleSpec
from foreword.tokens.vocabulary import Vocabulary


class EncoderDecoderSpec(StackSpec, NetworkSpec):
    kind: Literal["encoder_decoder"] = "encoder_decoder"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "source", "source_real", "added"})
    abilities: ClassVar[frozenset[str]] = frozenset()  # what its objective names
    again: ClassVar[bool] = True
    context: Size  # positions of the source, and of the target
    chosen: ClassVar[Mapping[str, Registry]] = {**StackSpec.chosen, "target": STACKS, "visible": VISIBLE}
    visible: SerializeAsAny[VisibleSpec] = (
        Dense()
    )  # what each layer sees of its own text: around a position, or behind it
    decoder_layers: Layers | None = None  # as many as the encoder's by default
    target: SerializeAsAny[StackSpec] | None = (
        None  # a decoder with settings and tokens of its own; the encoder's by default
    )
    embedding_norm: bool | None = None  # the vectors of the source are normalised before the first block, as BERT's are

    one_stack: Literal["prefix", "causal"] | None = (
        None  # no encoder: one stack reads the source, then writes; it sees the source both ways, or as an LM
    )
    facts: Size | None = (
        None  # a source is read sentence by sentence, a vector each, of so many words; by default word by word
    )

    def faults(self) -> list[tuple[str, str]]:
        own = [
            name for name in ("decoder_layers", "target", "facts", "ngrams") if self.one_stack and getattr(self, name)
        ]
        return [
            *super().faults(),
            *((name, "this is for an encoder and a decoder; one_stack has neither.") for name in own),
        ]

    @property
    def plain(self) -> bool:
        return super().plain and not (self.target or self.embedding_norm or self.facts or self.one_stack)

    def build(self, vocabulary: Vocabulary) -> EncoderDecoder | PrefixTransformer:
        return PrefixTransformer(self, vocabulary.size) if self.one_stack else EncoderDecoder(self, vocabulary)


class DecoderState(NamedTuple):
    """The source as each block of the decoder remembers it, and the target so far."""

    sources: tuple[SourceMemory, ...]
    layers: tuple[KeyValues, ...]


class EncoderDecoder(Network):
    reads = frozenset({"ids", "real", "source", "source_real", "added"})

    def __init__(self, spec: EncoderDecoderSpec, vocabulary: Vocabulary):
        super().__init__()
        below = spec.target or spec.model_copy(update={"layers": spec.decoder_layers or spec.layers})
        self.spec, self.width, self.context = spec, spec.width, min(spec.context, below.context or spec.context)
        self.embeddings = Embeddings(spec, vocabulary.size, norm=bool(spec.embedding_norm), both_ways=True)
        self.targets = Embeddings(below, vocabulary.size)
        if spec.target is None:
            self.targets.tokens = self.embeddings.tokens  # one table for both sides
        self.widen = widening(spec)
        self.facts = FactReader(spec.facts, spec.token_width, vocabulary) if spec.facts else None
        self.encoder, self.decoder = spec.blocks(), below.blocks(cross=True)
        self.encoder_depth, self.depth = spec.goes_through(), below.goes_through()
        self.encoder_norm, self.norm = spec.last_norm(), below.last_norm()
        self.windows = spec.visible.windows(spec.layers, spec.context)
        self.target_windows = spec.visible.windows(below.layers, self.context)

    def forward(self, inputs: Inputs, state: DecoderState | None = None) -> Output:
        """`inputs.ids` is the target so far; the source is read once, by the first call."""
        sources, costs = (state.sources, {}) if state else self.read(inputs)
        before = state.layers[0].keys.size(2) if state else 0
        positions = torch.arange(before, before + inputs.ids.size(1), device=inputs.ids.device)
        x = self.widen(self.targets(inputs.ids, positions, added=inputs.added))
        where = self.targets.where(positions, before + inputs.ids.size(1))
        blocks = [
            partial(block, pattern=CausalPattern().within(window), where=where, source=source)
            for block, source, window in zip(self.decoder, sources, self.target_windows)
        ]
        place = partial(self.targets.positions.add, positions=positions)
        layers, seen, more = self.depth(x, blocks, state.layers if state else None, place, inputs.real)
        return Output(self.norm(layers[-1]), tuple(layers), DecoderState(sources, tuple(seen)), {**costs, **more})

    def read(self, inputs: Inputs) -> tuple[tuple[SourceMemory, ...], dict[str, Tensor]]:
        """The source, as each block of the decoder remembers it, and what reading it costs."""
        if inputs.source is None:
            raise TypeError("an encoder-decoder needs a source")
        x, real = self.embeddings.vectors(inputs.source), inputs.source_real
        if self.facts is not None:
            x, real = self.facts(x, inputs.source, real)
        positions = torch.arange(x.size(1), device=x.device)
        x = self.widen(self.embeddings.placed(x, positions))
        where = self.embeddings.where(positions, x.size(1))
        blocks = [
            partial(block, pattern=FullPattern().within(window), real=real, where=where)
            for block, window in zip(self.encoder, self.windows)
        ]
        place = partial(self.embeddings.positions.add, positions=positions)
        layers, _, costs = self.encoder_depth(x, blocks, None, place, real)
        x = self.encoder_norm(layers[-1])
        sources = tuple(block.remember_source(x, real) for block in self.decoder)
        return sources, {f"encoder {name}": cost for name, cost in costs.items()}

    def tables(self) -> dict[str, Tensor]:
        places = {"positions": self.embeddings.positions, "target_positions": self.targets.positions}
        tables = {name: part.weight for name, part in places.items() if isinstance(part, PositionTable)}
        return {"tokens": self.targets.tokens.weight, **tables}

    def levels(self) -> list[list[nn.Parameter]]:
        """Those of the target: what reads the source lies below all of them."""
        below = {
            id(p): p
            for part in (
                self.embeddings,
                self.targets,
                self.widen,
                *filter(None, [self.facts]),
                self.encoder,
                self.encoder_depth,
                self.encoder_norm,
            )
            for p in part.parameters()
        }
        layers = [list(block.parameters()) for block in self.decoder]
        layers[-1] += self.depth.parameters()
        return [list(below.values()), *layers]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.apply(module)
        if self.spec.initial.tokens is not None:  # a head that shares the table has just drawn it
            self.spec.initial.draw(self.table(), self.spec.initial.tokens)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> SourceReader:
        return SourceReader(self, head, vocabulary, Inputs)
