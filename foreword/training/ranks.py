"""Ranks: the one place where processes that train one model agree on numbers. So far there is one process."""

from __future__ import annotations

import torch
from torch import Tensor


class Ranks:
    """What all processes count together, and what they decide as one. Alone, every answer is one's own."""

    rank, world = 0, 1

    def total(self, counts: dict[str, int]) -> dict[str, int]:
        """The guesses of all ranks: what the gradient is divided by."""
        return dict(counts)

    def norm(self, gradients: list[Tensor]) -> Tensor:
        """The length of the whole gradient, wherever its parts are."""
        return torch.nn.utils.get_total_norm(gradients)

    def least(self, number: int) -> int:
        """The smallest of what the ranks say: as many rows as fit everywhere."""
        return number

    def agree(self, decision: bool) -> bool:
        """Whether the first rank says so: what only one clock can decide."""
        return decision
