"""A linear map and its cross-entropy in one, a few rows at a time: the logits of all guesses never exist together.

With a vocabulary of 50,000, the logits of one batch outweigh every other tensor of a small model. The gradient is made in
the forward pass, while each piece of logits is still at hand, so nothing is computed twice.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 256  # rows of logits at a time, at least: fewer would starve the matrix product
LOGITS = 2**21  # and about so many logits: more would leave the cache
FEW = 2**17  # so few logits in all are made at once, by torch alone: less is gained than the many small steps cost


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, low: torch.dtype
    ) -> Tensor:
        """Products are made in `low`, everything else in the precision of the weights."""
        learning = any(ctx.needs_input_grad[:3])
        of_hidden = torch.empty_like(hidden) if learning else None
        of_weight = torch.zeros_like(weight) if learning else None
        of_bias = torch.zeros_like(bias) if learning and bias is not None else None
        total, table = weight.new_zeros(()), weight.to(low)
        piece = max(ROWS, LOGITS // len(weight))
        for start in range(0, len(hidden), piece):
            rows, wanted = hidden[start : start + piece].to(low), targets[start : start + piece]
            logits = (rows @ table.t()).to(weight.dtype)
            if bias is not None:
                logits += bias
            right, most = logits.gather(-1, wanted[:, None]), logits.amax(-1, keepdim=True)
            odds = logits.sub_(most).exp_()  # in the place of the logits
            whole = odds.sum(-1, keepdim=True)
            total += (most + whole.log() - right).sum()
            if of_hidden is None or of_weight is None:
                continue
            # the slope of a logit is odds / whole, less 1 at the target; dividing the narrow side spares a pass over the wide
            share, narrow = odds.to(low), rows / whole.to(low)
            of_hidden[start : start + piece] = (share @ table).div_(whole.to(low)).sub_(table[wanted])
            if low == weight.dtype:
                of_weight.addmm_(share.t(), narrow)
            else:
                of_weight += share.t() @ narrow
            if of_bias is not None:
                of_bias += (odds / whole).sum(0)
        if of_weight is not None:
            of_weight.index_add_(0, targets, hidden.to(weight.dtype), alpha=-1.0)
        if of_bias is not None:
            of_bias.sub_(torch.bincount(targets, minlength=len(of_bias)))
        ctx.slopes = [of_hidden, of_weight, of_bias]
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        if ctx.slopes is None:
            raise RuntimeError("this loss has been passed back already; its gradients were not kept")
        slopes, ctx.slopes = ctx.slopes, None  # scaled where they stand: a second copy of the vocabulary's is large
        return (*(None if slope is None else slope.mul_(upstream[0]) for slope in slopes), None, None)


def summed_nll(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """What all guesses cost together. hidden [guesses, width], weight [vocabulary, width], targets [guesses]."""
    if len(hidden) * len(weight) <= FEW:
        return F.cross_entropy(F.linear(hidden, weight, bias), targets, reduction="sum")
    kind = hidden.device.type
    low = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
    with torch.autocast(kind, enabled=False):
        return _Summed.apply(hidden.contiguous(), weight, bias, targets, low)
