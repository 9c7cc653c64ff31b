"""Who may look at whom. A pattern knows its definition (`mask`) and its own way of computing it (`attend`)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


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
