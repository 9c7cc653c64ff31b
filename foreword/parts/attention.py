"""Attention in two verbs: remember a context, then look at what is remembered (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.positions import Bias, Distances, QueryBiases, Rotation, Where
from foreword.parts.visible import Pattern, attend_with_bias, attention_weights


class KeyValues(NamedTuple):
    """What attention remembers of a context."""

    keys: Tensor  # [batch, heads, positions, size]
    values: Tensor  # [batch, heads, positions, size]

    def then(self, later: KeyValues) -> KeyValues:
        """This context followed by a later one."""
        return KeyValues(torch.cat([self.keys, later.keys], 2), torch.cat([self.values, later.values], 2))


class Past(Protocol):
    """A context that more can follow: KeyValues, or one layer of a cache."""

    def then(self, later: KeyValues) -> KeyValues: ...


class StackedLinear(nn.Linear):
    """Several maps of the same input in one matrix, one below the other: one product instead of `pieces`."""

    def __init__(self, inputs: int, outputs: int, pieces: int, bias: bool = True):
        super().__init__(inputs, pieces * outputs, bias)
        self.pieces = pieces


class DotProduct(nn.Module):
    """Scores are products of queries and keys, and the bias of their distance if there is one.

    `scale`: what products are multiplied by; one over the root of a head's size by default.
    """

    def __init__(self, size: int, scale: float | None = None):
        super().__init__()
        self.factor = 1.0 if scale is None else scale * size**0.5  # the default scale is applied where they meet

    def forward(self, queries: Tensor, where: Where | None) -> tuple[Tensor, Tensor | None]:
        """(queries as they meet the keys, what is added to their scores [..., queries, keys])"""
        return queries * self.factor if self.factor != 1.0 else queries, where.values if isinstance(
            where, Bias
        ) else None


class RelativeScores(nn.Module):
    """Content and distance are scored apart, each with its own query bias (Dai et al. 2019, eq. 5)."""

    def __init__(self, width: int, heads: int, size: int, untied: bool = False):
        super().__init__()
        self.heads, self.size = heads, size
        self.distance = nn.Linear(width, heads * size, bias=False)
        self.biases: QueryBiases | None = QueryBiases(heads, size) if untied else None  # None: those of the whole stack

    def forward(self, queries: Tensor, where: Where | None) -> tuple[Tensor, Tensor | None]:
        if not isinstance(where, Distances):
            raise TypeError("relative scores need distances")
        biases = self.biases or where.biases
        assert biases is not None
        far = self.distance(where.vectors.to(queries.dtype)).unflatten(-1, (self.heads, self.size)).transpose(-3, -2)
        far = far if where.tables is None else far[where.tables]  # [.., heads, distances, size]
        scores = (queries + biases.place[:, None]) @ far.mT  # [batch, heads, queries, distances]
        return queries + biases.content[:, None], self.to_keys(scores, where) * self.size**-0.5

    def to_keys(self, scores: Tensor, where: Distances) -> Tensor:
        """[.., queries, distances] from the last position -> [.., queries, keys] from each query."""
        if where.places is None:
            return shifted(scores)[..., : where.keys]
        first = scores.size(-1) - where.keys - where.places  # how far each query stands before the last position
        columns = first[:, None, :, None] + torch.arange(where.keys, device=scores.device)
        return scores.gather(-1, columns.expand(-1, scores.size(1), -1, -1))


class SegmentScores(RelativeScores):
    """The same, and whether query and key are of one text: which text it is does not matter (Yang et al. 2019, section 2.5)."""

    def __init__(self, width: int, heads: int, size: int):
        super().__init__(width, heads, size, untied=True)
        self.biases = QueryBiases(heads, size, segments=True)
        self.texts = nn.Embedding(2, heads * size)  # of the same text, of another

    def forward(self, queries: Tensor, where: Where | None) -> tuple[Tensor, Tensor | None]:
        asked, scores = super().forward(queries, where)
        if not isinstance(where, Distances) or where.same is None:
            return asked, scores
        texts = self.texts.weight.unflatten(-1, (self.heads, self.size)).transpose(0, 1)  # [heads, 2, size]
        assert scores is not None  # relative positions always score
        assert self.biases is not None
        assert self.biases.segment is not None
        same, other = ((queries + self.biases.segment[:, None]) @ texts.mT * self.size**-0.5).split(1, -1)
        return asked, scores + torch.where(where.same, same, other)


def shifted(scores: Tensor) -> Tensor:
    """Scores of distances from the last query -> those of each query: every row moves left by how far it is from the last.

    What is then right of the last distance is another row's.
    """
    batch, heads, queries, distances = scores.shape
    padded = F.pad(scores, (1, 0)).view(batch, heads, distances + 1, queries)
    return padded[:, :, 1:].reshape(batch, heads, queries, distances)


class Attention(nn.Module):
    """Several heads, whose queries, keys and values one matrix makes, in that order.

    `scores`: how queries meet keys, scaled dot products by default. `qk_norm`: applied to both before they meet.
    """

    shown: list[Tensor] | None = None  # a list here is given the weights of every look, for pictures

    def __init__(
        self,
        width: int,
        heads: int,
        size: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        qkv_bias: bool = True,
        scores: nn.Module | None = None,
        qk_norm: nn.Module | None = None,
    ):
        super().__init__()
        self.heads, self.size, self.dropout = heads, size or width // heads, dropout
        self.inner = heads * self.size
        self.project = StackedLinear(width, self.inner, 3, bias and qkv_bias)
        self.out = nn.Linear(self.inner, width, bias)
        self.scores, self.qk_norm = scores or DotProduct(self.size), qk_norm

    def remember(self, context: Tensor, where: Where | None = None) -> KeyValues:
        """context [batch, positions, width] -> its keys and values."""
        keys, values = self._part(context, self.inner, 3 * self.inner).chunk(2, 1)
        return KeyValues(self._placed(keys, where), values)

    def look(
        self, x: Tensor, seen: KeyValues, pattern: Pattern, real: Tensor | None = None, where: Where | None = None
    ) -> Tensor:
        """x [batch, queries, width] looks at what is remembered; real [batch, positions] is False at padding."""
        queries = self._part(x, 0, self.inner)
        return self._mixed(self._placed(queries, where), seen, pattern, real, where)

    def forward(
        self,
        x: Tensor,
        pattern: Pattern,
        past: Past | None = None,
        real: Tensor | None = None,
        where: Where | None = None,
    ) -> tuple[Tensor, KeyValues]:
        """Self-attention: remember x after the past, and look at both. One product makes all three projections."""
        all_three = self.project(x).unflatten(-1, (3, self.heads, -1))
        if self.qk_norm is None and not isinstance(where, Rotation):
            # split before they are transposed: their gradients come together in one copy
            queries, keys, values = (part.transpose(1, 2) for part in all_three.unbind(2))
        else:
            both, values = self._split(all_three.flatten(2)).split([2 * self.heads, self.heads], 1)
            queries, keys = self._placed(both, where).chunk(2, 1)
        seen = KeyValues(keys, values)
        if past is not None:
            seen = past.then(seen)
        return self._mixed(queries, seen, pattern, real, where), seen

    def _placed(self, x: Tensor, where: Where | None) -> Tensor:
        """Queries or keys as they meet: rotated by their positions, then normalised."""
        if isinstance(where, Rotation):
            x = where.of(x)
        return x if self.qk_norm is None else self.qk_norm(x)

    def _mixed(
        self, queries: Tensor, seen: KeyValues, pattern: Pattern, real: Tensor | None, where: Where | None
    ) -> Tensor:
        queries, bias = self.scores(queries, where)
        dropout = self.dropout if self.training else 0.0
        if self.shown is not None:
            self.shown.append(attention_weights(queries, seen.keys, pattern, real, bias))
        if bias is None:
            mixed = pattern.attend(queries, seen.keys, seen.values, real, dropout)
        else:
            mixed = attend_with_bias(pattern, queries, seen.keys, seen.values, real, bias, dropout)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _part(self, x: Tensor, start: int, stop: int) -> Tensor:
        bias = None if self.project.bias is None else self.project.bias[start:stop]
        return self._split(F.linear(x, self.project.weight[start:stop], bias))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.size)).transpose(1, 2)  # [batch, heads, positions, size]
