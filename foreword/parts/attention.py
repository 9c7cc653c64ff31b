"""Attention in two verbs: remember a context, then look at what is remembered (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.visible import Causal, Everywhere


class KeyValues(NamedTuple):
    """What attention remembers of a context."""

    keys: Tensor      # [batch, heads, positions, size]
    values: Tensor    # [batch, heads, positions, size]

    def then(self, later: KeyValues) -> KeyValues:
        """This context followed by a later one."""
        return KeyValues(torch.cat([self.keys, later.keys], 2), torch.cat([self.values, later.values], 2))


class Attention(nn.Module):
    """Several heads of scaled dot products. One matrix makes queries, keys and values, in that order."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0):
        super().__init__()
        self.heads, self.width, self.dropout = heads, width, dropout
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def remember(self, context: Tensor) -> KeyValues:
        """context [batch, positions, width] -> its keys and values."""
        both = F.linear(context, self.project.weight[self.width:], self.project.bias[self.width:])
        return KeyValues(*(self._split(part) for part in both.chunk(2, -1)))

    def look(self, x: Tensor, seen: KeyValues, pattern: Everywhere | Causal, real: Tensor | None = None) -> Tensor:
        """x [batch, queries, width] looks at what is remembered; real [batch, positions] is False at padding."""
        queries = F.linear(x, self.project.weight[: self.width], self.project.bias[: self.width])
        return self._blend(self._split(queries), seen, pattern, real)

    def forward(self, x: Tensor, pattern: Everywhere | Causal, past: KeyValues | None = None,
                real: Tensor | None = None) -> tuple[Tensor, KeyValues]:
        """Self-attention: remember x after the past, and look at both. One product makes all three projections."""
        queries, keys, values = (self._split(part) for part in self.project(x).chunk(3, -1))
        seen = KeyValues(keys, values)
        if past is not None:
            seen = past.then(seen)
        return self._blend(queries, seen, pattern, real), seen

    def _blend(self, queries: Tensor, seen: KeyValues, pattern: Everywhere | Causal, real: Tensor | None) -> Tensor:
        mixed = pattern.attend(queries, seen.keys, seen.values, real, self.dropout if self.training else 0.0)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)      # [batch, heads, positions, size]
