"""A linear map and its cross-entropy in one, a few rows at a time: the logits of all guesses never exist together.

With a vocabulary of 50,000, the logits of one batch outweigh every other tensor of a small model. The gradient is made in
the forward pass, while each piece of logits is still at hand, so nothing is computed twice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ROWS = 512        # rows of logits at a time; more would leave the cache, fewer would starve the matrix product


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
        learning = any(ctx.needs_input_grad[:3])
        of_hidden = torch.empty_like(hidden) if learning else None
        of_weight = torch.zeros_like(weight) if learning else None
        of_bias = torch.zeros_like(bias) if learning and bias is not None else None
        total = hidden.new_zeros(())
        for start in range(0, len(hidden), ROWS):
            rows, wanted = hidden[start: start + ROWS], targets[start: start + ROWS, None]
            logits = rows @ weight.t() if bias is None else torch.addmm(bias, rows, weight.t())
            scale = logits.logsumexp(-1, keepdim=True)
            total += (scale - logits.gather(-1, wanted)).sum()
            if of_hidden is None or of_weight is None:
                continue
            slope = logits.sub_(scale).exp_()                        # probabilities, in the place of the logits
            slope.scatter_add_(-1, wanted, slope.new_full((1, 1), -1.0).expand_as(wanted))
            torch.mm(slope, weight, out=of_hidden[start: start + ROWS])
            of_weight.addmm_(slope.t(), rows)
            if of_bias is not None:
                of_bias += slope.sum(0)
        ctx.save_for_backward(of_hidden, of_weight, of_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        grads = [None if slope is None else slope * upstream[0] for slope in ctx.saved_tensors]
        return (*grads, None)


def summed_nll(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """What all guesses cost together. hidden [guesses, width], weight [vocabulary, width], targets [guesses]."""
    return _Summed.apply(hidden.contiguous(), weight, bias, targets)
