"""SegmentTransformer: each segment also looks at what the layers made of the segments before. Transformer-XL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Whole
from foreword.basics.registry import Registry
from foreword.networks.base import Inputs, NetworkSpec, Output
from foreword.networks.language_model import NeuralReader
from foreword.networks.transformer import Transformer
from foreword.parts import WORDS
from foreword.parts.embeddings import Embeddings
from foreword.parts.positions import PositionsSpec, Relative, Sinusoid
from foreword.parts.stack import StackSpec
from foreword.parts.visible import BandedPattern, CausalPattern
from foreword.parts.words import TableSpec, WordsSpec
from foreword.tokens.vocabulary import Vocabulary


class SegmentTransformerSpec(StackSpec, NetworkSpec):
    kind: Literal["segment_transformer"] = "segment_transformer"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "added"})
    context: None = None  # a segment may have any length
    memory: Whole = 128  # positions that each layer keeps of what it has read before
    evaluation_memory: Whole | None = None  # the same once it has learned; as many by default
    positions: SerializeAsAny[PositionsSpec] = Relative()
    chosen: ClassVar[Mapping[str, Registry]] = {**StackSpec.chosen, "words": WORDS}
    words: SerializeAsAny[WordsSpec] = TableSpec()  # from ids to vectors: a row for each, or less for rarer words

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        found += [
            (name, f"{name} must be at least 0 (it says {value}).")
            for name in ("memory", "evaluation_memory")
            if (value := getattr(self, name)) is not None and value < 0
        ]
        if not found and not (self.memory if self.evaluation_memory is None else self.evaluation_memory):
            what = (
                "once it has learned, a position sees evaluation_memory positions before its own: with 0 it sees none."
            )
            found.append(("evaluation_memory", f"{what} Without a memory give the length of a segment."))
        if not self.positions.between and not isinstance(self.positions, Sinusoid):
            what = (
                "what is remembered moves away with every segment: positions tell distances (relative, distance_bias), "
            )
            found.append(("positions", f"{what}or, as a control, places in a segment (sinusoid)."))
        return found

    def build(self, vocabulary: Vocabulary) -> SegmentTransformer:
        return SegmentTransformer(self, vocabulary)


class Memory(NamedTuple):
    """What entered each layer at the last positions, as many of them as there are places; a place may still be empty."""

    layers: tuple[Tensor, ...]  # each [batch, memory, width]
    real: Tensor  # [batch, memory], False where there is no token
    read: tuple[Tensor, ...] = ()  # [batch] tokens before, where places are counted; nothing to save where they are not


class SegmentTransformer(Transformer):
    """While it learns, a position sees all of its segment and all that is remembered; afterwards exactly as many positions
    before its own as are remembered, so that a text costs the same however it is cut into segments.

    With sinusoids, the paper's control, places are counted anew in every segment, as many as are remembered while it learns: what
    is remembered keeps the place that it had in its own.
    """

    reads = frozenset({"ids", "real", "added"})

    def __init__(self, spec: SegmentTransformerSpec, vocabulary: Vocabulary):
        super().__init__(spec, Embeddings(spec, vocabulary.size))
        if not isinstance(spec.words, TableSpec):
            self.embeddings.tokens = spec.words.build(vocabulary, spec.token_width)
            spec.initial.apply(self.embeddings.tokens)
        self.spec, self.norm = spec, spec.last_norm()
        self.afterwards = spec.memory if spec.evaluation_memory is None else spec.evaluation_memory
        self.counts = not spec.positions.between

    @property
    def memory(self) -> int:
        return self.spec.memory if self.training else self.afterwards

    @property
    def reach(self) -> int:
        return self.spec.layers * self.afterwards

    def forward(self, inputs: Inputs, state: Memory | None = None) -> Output:
        now = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
        places, read = torch.arange(inputs.ids.size(1), device=inputs.ids.device), state.read if state else ()
        if self.counts:
            before = read[0] if read else now.new_zeros(len(now), dtype=torch.int64)
            counted = before[:, None] + now.cumsum(1)
            places, read = (counted - 1).clamp(min=0) % (self.spec.memory or self.afterwards), (counted[:, -1],)
        x = self.widen(self.embeddings(inputs.ids, places, added=inputs.added))
        state = state or self._empty(x)
        real = torch.cat([state.real, now], 1)
        where = self.embeddings.where(places, real.size(1))
        pattern = CausalPattern() if self.training else BandedPattern(self.memory + 1)
        layers, kept = [x], []
        for block, memory in zip(self.blocks, state.layers):
            kept.append(self._last(torch.cat([memory, x], 1)).detach())  # no gradient across segments
            x, _ = block(x, pattern, block.remember(memory), real, where)
            layers.append(x)
        return Output(self.norm(x), tuple(layers), Memory(tuple(kept), self._last(real), read))

    def _empty(self, x: Tensor) -> Memory:
        layer = x.new_zeros(x.size(0), self.memory, self.width)
        return Memory((layer,) * len(self.blocks), layer.new_zeros(layer.shape[:2], dtype=torch.bool))

    def _last(self, x: Tensor) -> Tensor:
        return x[:, max(x.size(1) - self.memory, 0) :]

    def table(self) -> Tensor:
        tokens = self.embeddings.tokens
        return tokens.weight if isinstance(tokens, nn.Embedding) else tokens.every()

    def tables(self) -> dict[str, Tensor]:
        return super().tables() if isinstance(self.embeddings.tokens, nn.Embedding) else {}

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        return NeuralReader(self, head, vocabulary, Inputs)
