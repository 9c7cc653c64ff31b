"""From ids to vectors: tokens, positions and, for sentence pairs, segments, added up."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.loops import Drop, dropped
from foreword.parts.positions import Turn
from foreword.parts.stack import StackSpec


class Embeddings(nn.Module):
    def __init__(self, spec: StackSpec, vocabulary: int, segments: int = 0, norm: bool = False):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, spec.width)
        self.positions = spec.positions.build(spec.context, spec.width, spec.width // spec.heads, spec.dropout.table)
        self.segments = nn.Embedding(segments, spec.width) if segments else None
        self.norm = spec.norm_of(spec.width) if norm else nn.Identity()
        self.drop_table, self.drop = spec.dropout.table, Drop(spec.dropout.embeddings)
        spec.initial.apply(self)
        if spec.initial.positions is not None:
            for table in self.positions.parameters():
                spec.initial.draw(table, spec.initial.positions)

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor | None = None) -> Tensor:
        """ids [batch, places], positions [places] or [batch, places] -> [batch, places, width]."""
        weight = dropped(self.tokens.weight, self.drop_table) if self.drop_table and self.training else self.tokens.weight
        x = self.positions.add(F.embedding(ids, weight), positions)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        return self.drop(self.norm(x))

    def turn(self, positions: Tensor) -> Turn | None:
        """What attention must do to queries and keys at these positions."""
        return self.positions.turn(positions)
