"""CausalTransformer: every position looks back, never ahead. GPT-1, GPT-2, GPT-3, DialoGPT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.basics.registry import Registry
from foreword.networks.base import Inputs, NetworkSpec, Output
from foreword.networks.decoding import Decoder
from foreword.networks.language_model import NeuralReader
from foreword.networks.transformer import Transformer
from foreword.parts import VISIBLE
from foreword.parts.attention import KeyValues, Past
from foreword.parts.block import balance
from foreword.parts.block_attention import BlockLayout
from foreword.parts.depth import StackOutput
from foreword.parts.embeddings import Embeddings
from foreword.parts.separable import KeyValuesAndTail
from foreword.parts.stack import StackSpec
from foreword.parts.visible import CausalPattern, Dense, VisibleSpec, Whole
from foreword.tokens.vocabulary import Vocabulary


class CausalTransformerSpec(StackSpec, NetworkSpec):
    kind: Literal["causal_transformer"] = "causal_transformer"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "added"})
    chosen: ClassVar[Mapping[str, Registry]] = {**StackSpec.chosen, "visible": VISIBLE}
    again: ClassVar[bool] = True
    context: Size
    visible: SerializeAsAny[VisibleSpec] = Dense()  # what each layer sees of the past
    embedding_norm: bool = False  # the vectors of the tokens are normalised before the first block

    def build(self, vocabulary: Vocabulary) -> CausalTransformer:
        return CausalTransformer(self, vocabulary.size)


class CausalState(NamedTuple):
    """The keys and values of every layer, and which of their positions are tokens (None: all)."""

    layers: tuple[KeyValues, ...]
    real: Tensor | None  # [batch, positions]


class CausalTransformer(Transformer):
    reads = frozenset({"ids", "real", "added"})

    def __init__(self, spec: CausalTransformerSpec, vocabulary: int):
        super().__init__(spec, Embeddings(spec, vocabulary, norm=spec.embedding_norm))
        self.spec = spec
        self.norm = spec.last_norm()
        self.pattern, self.windows = CausalPattern(), spec.visible.windows(spec.layers, spec.context)

    def forward(self, inputs: Inputs, state: CausalState | None = None) -> Output:
        real = self._real(inputs, state)
        positions = self._positions(inputs.ids, state, real)
        past = state.layers if state else None
        layers, seen, costs = self.through(inputs.ids, positions, self.pattern_for(inputs), past, real, inputs.added)
        kept = CausalState(tuple(seen), real)
        return Output(self.norm(layers[-1]), tuple(layers), kept, {**costs, **balance(self.blocks)})

    def pattern_for(self, inputs: Inputs) -> Whole:
        """Who may look at whom."""
        return self.pattern

    def through(
        self,
        ids: Tensor,
        positions: Tensor,
        pattern: Whole,
        past: Sequence[Past] | None = None,
        real: Tensor | None = None,
        added: Tensor | None = None,
    ) -> StackOutput:
        """What each layer makes of ids that stand at these positions, and what it remembers of them."""
        x = self.widen(self.embeddings(ids, positions, added=added))
        before = past[0].keys.size(2) if past and isinstance(past[0], (KeyValues, KeyValuesAndTail)) else 0
        where = self.embeddings.where(positions, before + ids.size(1))
        blocks = [
            partial(block, pattern=pattern.within(window), real=real, where=where)
            for block, window in zip(self.blocks, self.windows)
        ]
        return self.depth(x, blocks, past, partial(self.embeddings.positions.add, positions=positions), real)

    def _real(self, inputs: Inputs, state: CausalState | None) -> Tensor | None:
        """Which of all positions, remembered ones included, are tokens."""
        before = state.real if state else None
        if inputs.real is None and before is None:
            return None
        batch, positions = inputs.ids.shape
        kept = state.layers[0].keys.size(2) if state else 0
        if before is None:
            before = torch.ones(batch, kept, dtype=torch.bool, device=inputs.ids.device)
        now = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
        return torch.cat([before, now], 1)

    def _positions(self, ids: Tensor, state: CausalState | None, real: Tensor | None) -> Tensor:
        """Tokens are numbered from 0 in each row; padding does not count."""
        if real is None:
            start = state.layers[0].keys.size(2) if state else 0
            return torch.arange(start, start + ids.size(1), device=ids.device)
        return (real.cumsum(1)[:, -ids.size(1) :] - 1).clamp(min=0)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        by_blocks = any(isinstance(window, BlockLayout) for window in self.windows)
        if self.spec.positions.between or by_blocks or not self.spec.plain:
            # a cache whose rows differ in length has no common distances, and keeps keys and values alone
            return NeuralReader(self, head, vocabulary, Inputs)
        return Decoder(self, head, vocabulary, Inputs)
