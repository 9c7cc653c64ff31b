"""SegmentTransformer: each segment also looks at what the layers made of the segments before. Transformer-XL."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.networks.base import Inputs, NetworkSpec, Output
from foreword.networks.language_model import NeuralReader
from foreword.networks.transformer import Transformer
from foreword.parts.embeddings import Embeddings
from foreword.parts.positions import PositionsSpec, Relative
from foreword.parts.stack import StackSpec
from foreword.parts.visible import Banded, CausalPattern
from foreword.tokens.vocabulary import Vocabulary


class SegmentTransformerSpec(StackSpec, NetworkSpec):
    kind: Literal["segment_transformer"] = "segment_transformer"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real"})
    context: None = None  # a segment may have any length
    memory: int = 128  # positions that each layer keeps of what it has read before
    evaluation_memory: int | None = None  # the same once it has learned; as many by default
    positions: SerializeAsAny[PositionsSpec] = Relative()

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        found += [
            (name, f"{name} must be at least 0 (it says {value}).")
            for name in ("memory", "evaluation_memory")
            if (value := getattr(self, name)) is not None and value < 0
        ]
        if not self.positions.between:
            found.append(("positions", "what is remembered moves away with every segment: only distances can be told."))
        return found

    def build(self, vocabulary: Vocabulary) -> SegmentTransformer:
        return SegmentTransformer(self, vocabulary.size)


class Memory(NamedTuple):
    """What entered each layer at the last positions, as many of them as there are places; a place may still be empty."""

    layers: tuple[Tensor, ...]  # each [batch, memory, width]
    real: Tensor  # [batch, memory], False where there is no token


class SegmentTransformer(Transformer):
    """While it learns, a position sees all of its segment and all that is remembered; afterwards exactly as many positions
    before its own as are remembered, so that a text costs the same however it is cut into segments.
    """

    reads = frozenset({"ids", "real"})

    def __init__(self, spec: SegmentTransformerSpec, vocabulary: int):
        super().__init__(spec, Embeddings(spec, vocabulary))
        self.spec, self.norm = spec, spec.last_norm()
        self.afterwards = spec.memory if spec.evaluation_memory is None else spec.evaluation_memory

    @property
    def memory(self) -> int:
        return self.spec.memory if self.training else self.afterwards

    @property
    def reach(self) -> int:
        return self.spec.layers * self.afterwards

    def forward(self, inputs: Inputs, state: Memory | None = None) -> Output:
        places = torch.arange(inputs.ids.size(1), device=inputs.ids.device)
        x = self.widen(self.embeddings(inputs.ids, places))
        state = state or self._empty(x)
        now = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
        real = torch.cat([state.real, now], 1)
        where = self.embeddings.where(places, real.size(1))
        pattern = CausalPattern() if self.training else Banded(self.memory + 1)
        layers, kept = [x], []
        for block, memory in zip(self.blocks, state.layers):
            kept.append(self._last(torch.cat([memory, x], 1)).detach())  # no gradient across segments
            x, _ = block(x, pattern, block.remember(memory), real, where)
            layers.append(x)
        return Output(self.norm(x), tuple(layers), Memory(tuple(kept), self._last(real)))

    def _empty(self, x: Tensor) -> Memory:
        layer = x.new_zeros(x.size(0), self.memory, self.width)
        return Memory((layer,) * len(self.blocks), layer.new_zeros(layer.shape[:2], dtype=torch.bool))

    def _last(self, x: Tensor) -> Tensor:
        return x[:, max(x.size(1) - self.memory, 0) :]

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        return NeuralReader(self, head, vocabulary, Inputs)
