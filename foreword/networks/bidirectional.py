"""BidirectionalTransformer: every position looks both ways. BERT, RoBERTa, BERT-wwm, ERNIE, MT-DNN, ModernBERT."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import nn

from foreword.basics.numbers import Size, Whole
from foreword.basics.registry import Registry
from foreword.networks.base import Inputs, NetworkSpec, Output, State
from foreword.networks.transformer import Transformer
from foreword.parts import VISIBLE
from foreword.parts.block import balance
from foreword.parts.embeddings import Embeddings
from foreword.parts.stack import StackSpec
from foreword.parts.visible import Dense, FullPattern, VisibleSpec
from foreword.tokens.vocabulary import Vocabulary


class BidirectionalTransformerSpec(StackSpec, NetworkSpec):
    kind: Literal["bidirectional_transformer"] = "bidirectional_transformer"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "segments", "tasks"})
    again: ClassVar[bool] = True
    context: Size
    segments: Whole = 2  # 0: there is no table of them
    chosen: ClassVar[Mapping[str, Registry]] = {**StackSpec.chosen, "visible": VISIBLE}
    visible: SerializeAsAny[VisibleSpec] = Dense()  # what each layer sees around a position
    first_norm: bool = True  # before the first attention; the norm of the embeddings can stand for it (ModernBERT)
    tasks: Size | None = (
        None  # rows of a table of pretraining tasks, added to every position (ERNIE 2.0); none by default
    )

    def build(self, vocabulary: Vocabulary) -> BidirectionalTransformer:
        return BidirectionalTransformer(self, vocabulary.size)


class BidirectionalTransformer(Transformer):
    reads = frozenset({"ids", "real", "segments", "tasks"})

    def __init__(self, spec: BidirectionalTransformerSpec, vocabulary: int, shared: Embeddings | None = None):
        super().__init__(
            spec,
            shared or Embeddings(spec, vocabulary, spec.segments, norm=True, both_ways=True, tasks=spec.tasks or 0),
        )
        self.norm = spec.last_norm()
        self.pattern, self.windows = FullPattern(), spec.visible.windows(spec.layers, spec.context)
        if not spec.first_norm:
            next(iter(self.blocks)).first.norm = nn.Identity()

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        positions = torch.arange(inputs.ids.size(1), device=inputs.ids.device)
        x = self.widen(self.embeddings(inputs.ids, positions, inputs.segments, inputs.tasks))
        far, near = self.embeddings.where(positions, x.size(1)), self.embeddings.where_near(positions, x.size(1))
        blocks = [
            partial(block, pattern=self.pattern.within(window), real=inputs.real, where=far if window is None else near)
            for block, window in zip(self.blocks, self.windows)
        ]
        place = partial(self.embeddings.positions.add, positions=positions)
        layers, _, costs = self.depth(x, blocks, None, place, inputs.real)
        return Output(self.norm(layers[-1]), tuple(layers), None, {**costs, **balance(self.blocks)})
