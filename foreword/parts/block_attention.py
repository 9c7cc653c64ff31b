"""Attention between blocks of positions, as a layout ties them: what is not tied is never computed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.kernels.dropout_attention import attention


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """Which blocks of keys each block of queries sees. A row of positions is counted from its first token."""

    tied: Tensor  # [blocks of queries, blocks of keys]
    block: int  # positions


@dataclass(frozen=True, eq=False)
class ByBlocks:
    """Every position sees the blocks that its own is tied to, and its own; `causal`: of these, what does not come after it."""

    layout: BlockLayout
    causal: bool

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[queries, keys], True where a query may look."""
        return self._seen(torch.arange(keys, device=device)[None], queries)[0]

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        """q [batch, heads, queries, size]; k, v [batch, heads, keys, size]; real [batch, keys], False at padding."""
        queries, keys, block = q.size(2), k.size(2), self.layout.block
        if real is not None:  # a row may begin anywhere: its blocks are counted from there
            places = (real.cumsum(1) - 1).clamp(min=0)
            itself = (
                torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril(keys - queries).triu(keys - queries)
            )
            seen = (self._seen(places, queries) & real[:, None, :]) | itself
            return attention(q, k, v, seen[:, None], dropout)
        if queries != keys or keys <= block or (keys % block and not self.causal):
            return attention(q, k, v, self.mask(queries, keys, q.device), dropout)
        short = -keys % block  # what is added at the end comes after everything
        q, k, v = (F.pad(x, (0, 0, 0, short)).unflatten(2, (-1, block)) for x in (q, k, v))
        return self._together(q, k, v, dropout).flatten(2, 3)[:, :, :queries]

    def _together(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        """q, k, v [batch, heads, blocks, block, size]. Blocks that see equally many are computed together."""
        tied, block, out = self._tied()[: q.size(2), : q.size(2)], self.layout.block, torch.empty_like(q)
        degrees = tied.sum(1)
        for each in degrees.unique().tolist():
            own = (degrees == each).nonzero()[:, 0]
            others = torch.stack([row.nonzero()[:, 0] for row in tied[own]])  # the own block is the last that is seen
            some = q[:, :, own].permute(2, 0, 1, 3, 4).flatten(0, 1)
            keys, values = (x[:, :, others].permute(2, 0, 1, 3, 4, 5).flatten(3, 4).flatten(0, 1) for x in (k, v))
            seen = None
            if self.causal:
                seen = torch.ones(block, each * block, dtype=torch.bool, device=q.device).tril((each - 1) * block)
            mixed = attention(some, keys, values, seen, dropout)
            out[:, :, own] = mixed.unflatten(0, (len(own), -1)).permute(1, 2, 0, 3, 4)
        return out

    def _tied(self) -> Tensor:
        tied = self.layout.tied | torch.eye(len(self.layout.tied), dtype=torch.bool)
        return tied.tril() if self.causal else tied

    def _seen(self, places: Tensor, queries: int) -> Tensor:
        """places [batch, keys], where each key stands in its row -> [batch, queries, keys]"""
        blocks, now = places // self.layout.block, places[:, -queries:]
        seen = self._tied().to(places.device)[blocks[:, -queries:, None], blocks[:, None, :]]
        return seen & (places[:, None, :] <= now[:, :, None]) if self.causal else seen
