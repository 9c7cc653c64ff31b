"""Who may look at whom. A pattern knows its definition (`mask`) and its own way of computing it (`attend`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.parts import thin


@dataclass(frozen=True)
class Everywhere:
    """Every position looks at every real token."""

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[queries, keys], True where a query may look."""
        return torch.ones(queries, keys, dtype=torch.bool, device=device)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        """q [batch, heads, queries, size]; k, v [batch, heads, keys, size]; real [batch, keys], False at padding."""
        seen = None if real is None else real[:, None, None, :]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout)


@dataclass(frozen=True)
class Causal:
    """Every position looks at itself and what came before. The last query stands at the last key (cached reading)."""

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        queries, keys = q.size(-2), k.size(-2)
        if real is None and queries == keys:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        if real is None and queries == 1:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
        seen = self.mask(queries, keys, q.device)
        if real is not None:
            # a padding query would see nothing, and a softmax over nothing is not a number: it may look at itself
            itself = torch.ones_like(seen).tril(keys - queries).triu(keys - queries)
            seen = (seen & real[:, None, None, :]) | itself
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout)


@dataclass(frozen=True)
class Reached:
    """One new token in each row, which looks at itself and what its row has remembered: the first places of a cache."""

    lengths: Tensor        # [batch], of the memory with the new token

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[batch, 1, keys]"""
        return (torch.arange(keys, device=device) < self.lengths[:, None])[:, None]

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None = None, dropout: float = 0.0) -> Tensor:
        return thin.attend(q, k, v, self.lengths)


@dataclass(frozen=True)
class Packed:
    """Texts of any length, one behind the other in a batch of one: each looks back within itself, and nothing is padding."""

    lengths: tuple[int, ...]

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        owner = torch.repeat_interleave(torch.arange(len(self.lengths)), torch.tensor(self.lengths)).to(device)
        return (owner[:, None] == owner).tril()

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None = None, dropout: float = 0.0) -> Tensor:
        runs = [(length, len(list(texts))) for length, texts in groupby(self.lengths)]        # those of one length go together
        found = []
        for (length, texts), *parts in zip(runs, *(x[0].split([a * b for a, b in runs], 1) for x in (q, k, v))):
            q, k, v = (part.unflatten(1, (texts, length)).transpose(0, 1) for part in parts)       # [texts, heads, length, size]
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
            found.append(mixed.transpose(0, 1).flatten(1, 2))
        return torch.cat(found, 1)[None]


Pattern = Everywhere | Causal | Reached | Packed
