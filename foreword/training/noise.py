"""The gradient noise scale: how large a batch would have to be for its noise to be as large as its gradient.

McCandlish et al. 2018, appendix A.1: the squared lengths of a small batch's gradient and of a large one's tell apart the
part that is the same in all batches and the part that shrinks as batches grow. Here the small batch is the first part of a
step that is taken in parts, the large one the whole step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from foreword.objectives.base import Batch

KEPT = 0.95        # of the averages, from one measurement to the next: single ones are far too noisy to divide


class GradientNoise:
    """Measured every so many steps, which depend on their number alone. `wanted`: such a step is parted if it was not."""

    def __init__(self, every: int, wanted: bool):
        self.every, self.wanted, self.due = every, wanted, False
        self.first: Tensor | None = None                             # squared length of the first part's gradient
        self.averages = torch.zeros(2, dtype=torch.float64)          # of the noise and of the squared gradient; begun at zero

    def rows_in_a_pass(self, step: int, batch: Batch, share: int) -> int:
        """Rows of this step's parts: `share`, or half the batch where a part is needed and no state is carried."""
        self.first = None
        due = (step + 1) % self.every == 0
        if due and self.wanted and share >= batch.size > 1 and batch.continues is None:
            share = (batch.size + 1) // 2
        self.due = due and share < batch.size
        return share

    def after_a_part(self, parameters: Iterable[nn.Parameter]) -> None:
        """After every backward pass; only the first counts."""
        if self.due and self.first is None:
            lengths = torch._foreach_norm([p.grad for p in parameters if p.grad is not None])
            self.first = torch.stack(lengths).double().square().sum()

    def after_all(self, length: float, batch: Batch, share: int, scale: float) -> dict[str, float]:
        """What is to be reported, given the length of the whole gradient and by how much the parts' were scaled."""
        if self.first is None or not math.isfinite(length):          # in float16 a gradient may overflow
            return {}
        rows, part = batch.size, share
        small, large = float(self.first) * (rows / part / scale) ** 2, length**2
        noise = (small - large) / (1 / part - 1 / rows)              # of one row: the trace of the covariance
        gradient = (rows * large - part * small) / (rows - part)     # squared length of the gradient without noise
        self.averages = KEPT * self.averages + (1 - KEPT) * torch.tensor([noise, gradient], dtype=torch.float64)
        noise, gradient = self.averages.tolist()                     # what both lack for having begun at zero cancels
        return {"gradient_noise": noise / gradient * batch.tokens / rows} if gradient > 0 else {}
