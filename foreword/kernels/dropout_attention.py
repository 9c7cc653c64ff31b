"""Attention: torch's own, but for dropout on a CPU (dropout_attention.c).

There torch fills memory with every weight of every head, several times over: half of a step of fine-tuning went there. Ours
goes through the batch in pieces that stay in the cache, keeps no weight, and makes them again on the way back.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.kernels import build
from foreword.kernels.elementwise import as_projected, dropout_from, fits
from foreword.kernels.tensors import address, served

SOURCE = Path(__file__).with_name("dropout_attention.c")
SIGNATURES = {"dropout_softmax": "pppllllllfqlfl", "dropout_softmax_back": "pppppllllllfqlfl"}
PIECE = 2**19  # weights at once: two megabytes, what the second cache of a core holds


def attention(
    q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None, dropout: float = 0.0, causal: bool = False
) -> Tensor:
    """q [batch, heads, queries, size]; k, v [batch, heads, keys, size]; seen [..., keys], True where a query may look.

    `causal`, with as many keys as queries and without `seen`: each looks at itself and what came before.
    """
    if not 0 < dropout < 1 or not served(q):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout, is_causal=causal)
    if causal:
        seen = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril()
    seed = torch.randint(2**62, (1,))
    if not fits(q):
        return in_torch(q, k, v, seen, seed, dropout)
    if seen is not None:
        seen = (seen if seen.stride(-1) == 1 else seen.contiguous()).expand(q.size(0), 1, seen.size(-2), k.size(2))
    return torch.ops.foreword.dropout_attention(q, k, v, seen, seed, dropout)[0]


def in_torch(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, seed: Tensor, share: float) -> Tensor:
    """The definition, dropping the same weights. A query that sees nothing has no weights."""
    scores = q @ k.mT / math.sqrt(q.size(3))
    if seen is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~seen, torch.finfo(q.dtype).min).softmax(-1).masked_fill(~seen, 0)
    return dropout_from(weights, seed, share) @ v


@functools.cache
def library() -> ctypes.CDLL | None:
    return build.library(
        SOURCE, SIGNATURES, "attention with dropout uses torch's, and fine-tuning takes up to twice as long"
    )


def _attention(
    q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, seed: Tensor, share: float
) -> tuple[Tensor, Tensor]:
    """(the weighted sum of values, the logarithms of what the weights of each query were divided by)"""
    out, sums = as_projected(q, v.size(3)), q.new_empty(q.shape[:3])
    for some in _pieces(q, k):
        weights = _product(q[some], k[some].mT)
        _run("dropout_softmax", (weights, sums[some]), seen, some, q.size(3), seed, share)
        out[some] = _product(weights, v[some])
    return out, sums


def _attention_back(
    upstream: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    seen: Tensor | None,
    seed: Tensor,
    out: Tensor,
    sums: Tensor,
    share: float,
) -> tuple[Tensor, Tensor, Tensor]:
    found = as_projected(q), as_projected(k), as_projected(v)
    along = (upstream * out).sum(-1).contiguous()
    for some in _pieces(q, k):
        weights, scores = _product(q[some], k[some].mT), _product(upstream[some], v[some].mT)
        _run("dropout_softmax_back", (weights, scores, sums[some], along[some]), seen, some, q.size(3), seed, share)
        for to, left, right in zip(found, (scores, scores.mT, weights.mT), (k, q, upstream)):
            to[some] = _product(left, right[some])
    return found


def _pieces(q: Tensor, k: Tensor) -> Iterator[slice]:
    """Of the batch, as many rows at once as the cache holds weights of."""
    rows = max(1, PIECE // (q.size(1) * q.size(2) * k.size(2) or 1))
    return (slice(start, start + rows) for start in range(0, q.size(0), rows))


def _product(a: Tensor, b: Tensor) -> Tensor:
    """[batch, heads, m, n] x [batch, heads, n, o]; of one row nothing is copied before."""
    return torch.bmm(*(x[0] if x.size(0) == 1 else x.flatten(0, 1) for x in (a, b))).unflatten(0, a.shape[:2])


def _run(
    name: str, tables: tuple[Tensor, ...], seen: Tensor | None, some: slice, size: int, seed: Tensor, share: float
) -> None:
    function: Callable[..., None] = getattr(library(), name)
    batch, heads, queries, keys = tables[0].shape
    mask = (
        (0, 0, 0) if seen is None else (address(seen[some]), seen.stride(0), seen.stride(2) if seen.size(2) > 1 else 0)
    )
    function(
        *map(address, tables),
        mask[0],
        batch * heads * queries,
        heads,
        queries,
        keys,
        *mask[1:],
        1 / math.sqrt(size),
        int(seed),
        some.start * heads * queries * keys,
        1.0 - share,
        torch.get_num_threads(),
    )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.share = inputs[-1]
    ctx.save_for_backward(*inputs[:-1], *output)
    ctx.mark_non_differentiable(output[1])


def _passed(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    return *torch.ops.foreword.dropout_attention_back(upstream, *ctx.saved_tensors, ctx.share), None, None, None


_forth = torch.library.custom_op("foreword::dropout_attention", _attention, mutates_args=())
_back = torch.library.custom_op("foreword::dropout_attention_back", _attention_back, mutates_args=())
_forth.register_fake(lambda q, k, v, *rest: (as_projected(q, v.size(3)), q.new_empty(q.shape[:3])))
_back.register_fake(lambda upstream, q, k, v, *rest: tuple(as_projected(x) for x in (q, k, v)))
_forth.register_autograd(_passed, setup_context=_keep)
