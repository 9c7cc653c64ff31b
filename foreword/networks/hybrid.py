"""HybridTransformer: one stack that reads a row from left to right, or looks both ways in it. GPT-BERT."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from foreword.networks.base import Inputs
from foreword.networks.causal import CausalTransformer, CausalTransformerSpec
from foreword.networks.decoding import Decoder
from foreword.networks.language_model import NeuralReader
from foreword.parts.visible import CausalOrFullPattern, FullPattern, Whole
from foreword.tokens.vocabulary import Vocabulary


class HybridTransformerSpec(CausalTransformerSpec):
    kind: Literal["hybrid_transformer"] = "hybrid_transformer"  # type: ignore[assignment]
    # two texts stand behind a separator; as in ModernBERT there is no table of segments
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "segments", "causal"})

    def build(self, vocabulary: Vocabulary) -> HybridTransformer:
        return HybridTransformer(self, vocabulary.size)


class HybridTransformer(CausalTransformer):
    """It looks both ways, except in rows that are marked as causal; as a language model it reads causal rows only."""

    reads = frozenset({"ids", "real", "segments", "causal"})
    reads_left_to_right = False

    def pattern_for(self, inputs: Inputs) -> Whole:
        return FullPattern() if inputs.causal is None else CausalOrFullPattern(inputs.causal)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        reader = NeuralReader if self.spec.positions.between else Decoder
        return reader(self, head, vocabulary, causal_inputs)


def causal_inputs(ids: Tensor, real: Tensor | None = None) -> Inputs:
    return Inputs(ids, real, causal=torch.ones(ids.size(0), dtype=torch.bool, device=ids.device))
