"""Attention in two verbs: remember a context, then look at what is remembered (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.positions import Turn
from foreword.parts.visible import Pattern


class KeyValues(NamedTuple):
    """What attention remembers of a context."""

    keys: Tensor      # [batch, heads, positions, size]
    values: Tensor    # [batch, heads, positions, size]

    def then(self, later: KeyValues) -> KeyValues:
        """This context followed by a later one."""
        return KeyValues(torch.cat([self.keys, later.keys], 2), torch.cat([self.values, later.values], 2))


class Past(Protocol):
    """A context that more can follow: KeyValues, or one layer of a cache."""

    def then(self, later: KeyValues) -> KeyValues: ...


class Stacked(nn.Linear):
    """Several maps of the same input in one matrix, one below the other: one product instead of `pieces`."""

    def __init__(self, inputs: int, outputs: int, pieces: int, bias: bool = True):
        super().__init__(inputs, pieces * outputs, bias)
        self.pieces = pieces


class Attention(nn.Module):
    """Several heads of scaled dot products. One matrix makes queries, keys and values, in that order."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0, bias: bool = True, even: nn.Module | None = None,
                 qkv_bias: bool = True):
        super().__init__()
        self.heads, self.width, self.dropout = heads, width, dropout
        self.project = Stacked(width, width, 3, bias and qkv_bias)
        self.out = nn.Linear(width, width, bias)
        self.even = even        # brings queries and keys to one length before they meet

    def remember(self, context: Tensor, turn: Turn | None = None) -> KeyValues:
        """context [batch, positions, width] -> its keys and values."""
        keys, values = self._part(context, self.width, 3 * self.width).chunk(2, 1)
        return KeyValues(self._place(keys, turn), values)

    def look(self, x: Tensor, seen: KeyValues, pattern: Pattern, real: Tensor | None = None,
             turn: Turn | None = None) -> Tensor:
        """x [batch, queries, width] looks at what is remembered; real [batch, positions] is False at padding."""
        queries = self._part(x, 0, self.width)
        return self._blend(self._place(queries, turn), seen, pattern, real)

    def forward(self, x: Tensor, pattern: Pattern, past: Past | None = None,
                real: Tensor | None = None, turn: Turn | None = None) -> tuple[Tensor, KeyValues]:
        """Self-attention: remember x after the past, and look at both. One product makes all three projections."""
        all_three = self.project(x).unflatten(-1, (3, self.heads, -1))
        if turn is None and self.even is None:        # parted before they are transposed, gradients come together in one copy
            queries, keys, values = (part.transpose(1, 2) for part in all_three.unbind(2))
        else:
            both, values = self._split(all_three.flatten(2)).split([2 * self.heads, self.heads], 1)
            queries, keys = self._place(both, turn).chunk(2, 1)
        seen = KeyValues(keys, values)
        if past is not None:
            seen = past.then(seen)
        return self._blend(queries, seen, pattern, real), seen

    def _place(self, x: Tensor, turn: Turn | None) -> Tensor:
        """Queries or keys as they meet: turned by their positions, then of even length."""
        if turn is not None:
            x = turn.of(x)
        return x if self.even is None else self.even(x)

    def _blend(self, queries: Tensor, seen: KeyValues, pattern: Pattern, real: Tensor | None) -> Tensor:
        mixed = pattern.attend(queries, seen.keys, seen.values, real, self.dropout if self.training else 0.0)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _part(self, x: Tensor, start: int, stop: int) -> Tensor:
        bias = None if self.project.bias is None else self.project.bias[start:stop]
        return self._split(F.linear(x, self.project.weight[start:stop], bias))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.width // self.heads)).transpose(1, 2)      # [batch, heads, positions, size]
