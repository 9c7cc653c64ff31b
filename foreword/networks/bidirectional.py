"""BidirectionalTransformer: every position looks both ways. BERT, RoBERTa, BERT-wwm, ERNIE, MT-DNN."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch

from foreword.networks.base import Inputs, NetworkSpec, Output, State
from foreword.networks.transformer import Transformer
from foreword.parts.embeddings import Embeddings
from foreword.parts.stack import StackSpec
from foreword.parts.visible import Everywhere
from foreword.tokens.vocabulary import Vocabulary


class BidirectionalTransformerSpec(StackSpec, NetworkSpec):
    kind: Literal["bidirectional_transformer"] = "bidirectional_transformer"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "segments"})
    context: int
    segments: int = 2

    def build(self, vocabulary: Vocabulary) -> BidirectionalTransformer:
        return BidirectionalTransformer(self, vocabulary.size)


class BidirectionalTransformer(Transformer):
    reads = frozenset({"ids", "real", "segments"})

    def __init__(self, spec: BidirectionalTransformerSpec, vocabulary: int, shared: Embeddings | None = None):
        super().__init__(spec, shared or Embeddings(spec, vocabulary, spec.segments, norm=True, both_ways=True))
        self.pattern = Everywhere()

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        positions = torch.arange(inputs.ids.size(1), device=inputs.ids.device)
        x = self.widen(self.embeddings(inputs.ids, positions, inputs.segments))
        where = self.embeddings.where(positions, inputs.ids.size(1))
        layers = [x]
        for block in self.blocks:
            x, _ = block(x, self.pattern, None, inputs.real, where)
            layers.append(x)
        return Output(x, tuple(layers))
