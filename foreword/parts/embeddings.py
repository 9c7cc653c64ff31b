"""From ids to vectors: tokens, learned positions and, for sentence pairs, segments, added up."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.stack import StackSpec


class Embeddings(nn.Module):
    def __init__(self, spec: StackSpec, vocabulary: int, segments: int = 0, norm: bool = False):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, spec.width)
        self.positions = nn.Embedding(spec.context, spec.width)
        self.segments = nn.Embedding(segments, spec.width) if segments else None
        self.norm = nn.LayerNorm(spec.width, spec.norm_epsilon) if norm else nn.Identity()
        self.drop_table, self.drop = spec.dropout.table, nn.Dropout(spec.dropout.embeddings)
        spec.initial.apply(self)
        if spec.initial.positions is not None:
            spec.initial.draw(self.positions.weight, spec.initial.positions)

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor | None = None) -> Tensor:
        """ids [batch, places], positions [places] or [batch, places] -> [batch, places, width]."""
        x = self._rows(self.tokens, ids) + self._rows(self.positions, positions)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        return self.drop(self.norm(x))

    def _rows(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        weight = F.dropout(table.weight, self.drop_table, self.training) if self.drop_table else table.weight
        return F.embedding(ids, weight)
