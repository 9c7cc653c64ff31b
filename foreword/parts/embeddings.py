"""From ids to vectors: tokens, positions and, for sentence pairs, segments, added up."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from foreword.kernels.elementwise import Dropout, dropout
from foreword.parts.positions import Where
from foreword.parts.stack import StackSpec


class Embeddings(nn.Module):
    """`both_ways`: the network looks ahead too, which some position schemes have to know."""

    def __init__(
        self,
        spec: StackSpec,
        vocabulary: int,
        segments: int = 0,
        norm: bool = False,
        both_ways: bool = False,
        tasks: int = 0,
    ):
        super().__init__()
        width = spec.token_width
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = spec.positions.build(spec, both_ways)
        self.segments = nn.Embedding(segments, width) if segments else None
        self.tasks = nn.Embedding(tasks, width) if tasks else None
        self.norm = spec.norm_of(width) if norm else nn.Identity()
        self.drop_table, self.drop = spec.dropout.table, Dropout(spec.dropout.embeddings)
        self.scale = width**0.5 if spec.embedding_scale else 1.0
        self.once = spec.depth is None  # blocks that are gone through again are told the positions each time
        spec.initial.apply(self)
        if spec.initial.tokens is not None:
            spec.initial.draw(self.tokens.weight, spec.initial.tokens)
        if spec.initial.positions is not None:
            for table in self.positions.parameters():
                spec.initial.draw(table, spec.initial.positions)

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        segments: Tensor | None = None,
        tasks: Tensor | None = None,
        added: Tensor | None = None,
    ) -> Tensor:
        """ids [batch, places], positions [places] or [batch, places], tasks [batch] -> [batch, places, width]."""
        vectors = self.vectors(ids)
        return self.placed(vectors if added is None else vectors + added, positions, segments, tasks)

    def vectors(self, ids: Tensor) -> Tensor:
        """Those of the tokens alone."""
        if not isinstance(self.tokens, nn.Embedding):
            return self.tokens(ids) * self.scale  # not a row for each
        weight = (
            dropout(self.tokens.weight, self.drop_table) if self.drop_table and self.training else self.tokens.weight
        )
        vectors = F.embedding(ids, weight)
        return vectors * self.scale if self.scale != 1.0 else vectors

    def placed(
        self, x: Tensor, positions: Tensor, segments: Tensor | None = None, tasks: Tensor | None = None
    ) -> Tensor:
        """Vectors with everything that is added to those of tokens."""
        x = self.positions.add(x, positions) if self.once else x
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        if self.tasks is not None:
            x = x + (self.tasks.weight[0] if tasks is None else self.tasks(tasks)[:, None])
        return self.drop(self.norm(x))

    def where(self, positions: Tensor, keys: int) -> Where | None:
        """What attention is told of queries at these positions, the last of which stands at the last of the keys."""
        return self.positions.where(positions, keys)

    def where_near(self, positions: Tensor, keys: int) -> Where | None:
        """The same for layers that see a window only."""
        return self.positions.where_near(positions, keys)


def widening(spec: StackSpec) -> nn.Module:
    """From the width of the token vectors to that of the blocks, where they differ (factorised embeddings)."""
    if spec.token_width == spec.width:
        return nn.Identity()
    made = nn.Linear(spec.token_width, spec.width)
    spec.initial.apply(made)
    return made
