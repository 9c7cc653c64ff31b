"""The stochastic answer network: classes of a pair of texts, guessed in several steps of reading (Liu et al. 2019, MT-DNN, 3)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from foreword.kernels.elementwise import Dropout

Order = Literal[
    "paper", "code"
]  # a step is judged after its memory is renewed, or, as the authors' program does, before


class AnswerNetwork(nn.Module):
    """A memory begins as a summary of the second text and looks at the first one, step by step; every step guesses.

    What it says is the logarithm of the mean of the steps' probabilities. In training a step is left out of the mean with
    chance `skip`, each example by itself, but never all of them.
    """

    def __init__(
        self, width: int, outputs: int, steps: int = 5, dropout: float = 0.1, skip: float = 0.1, order: Order = "paper"
    ):
        super().__init__()
        self.steps, self.skip, self.order = steps, skip, order
        self.summary = nn.Linear(width, 1, bias=False)
        self.looks = nn.Linear(width, width, bias=False)
        self.memory = nn.GRUCell(width, width)
        self.drop = Dropout(dropout)
        self.out = nn.Linear(4 * width, outputs)

    def forward(self, hidden: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """hidden [pairs, positions, width]; first, second [pairs, positions] where each text stands -> [pairs, outputs]"""
        state = attended(self.summary(hidden)[..., 0], second, hidden)
        guesses = []
        for step in range(self.steps):
            seen = attended((hidden @ self.looks(state)[..., None])[..., 0], first, hidden)
            if self.order == "paper":
                state = self.memory(seen, state)
            guesses.append(self.guess(state, seen))
            if self.order == "code" and step + 1 < self.steps:
                state = self.memory(seen, state)
        logs = torch.stack(guesses, 1)
        return (logs + self.shares(logs).log()[..., None]).logsumexp(1)

    def guess(self, state: Tensor, seen: Tensor) -> Tensor:
        """Log-probabilities of one step."""
        together = torch.cat([state, seen, (state - seen).abs(), state * seen], -1)
        return self.out(self.drop(together)).log_softmax(-1)

    def shares(self, logs: Tensor) -> Tensor:
        """logs [pairs, steps, outputs] -> [pairs, steps]: what each step counts for in the mean."""
        kept = logs.new_ones(logs.shape[:2])
        if self.training and self.skip:
            kept = (torch.rand_like(kept) >= self.skip).to(kept.dtype)
            one = torch.randint(self.steps, (len(kept), 1), device=kept.device)
            kept = torch.where(kept.any(1, keepdim=True), kept, torch.zeros_like(kept).scatter(1, one, 1.0))
        return kept / kept.sum(1, keepdim=True)


def attended(scores: Tensor, there: Tensor, hidden: Tensor) -> Tensor:
    """The mean of hidden [pairs, positions, width] by a softmax of scores over what is there; nothing is there: zeros."""
    shares = scores.masked_fill(~there, torch.finfo(scores.dtype).min).softmax(-1) * there
    return (shares[:, None] @ hidden)[:, 0]


def two_texts(there: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
    """Where the words of each text stand in [cls] first [separator] second [separator]: no special, no padding."""
    one, two = there & (segments == 0), there & (segments == 1)
    return without_last(one & (one.cumsum(1) > 1)), without_last(two)


def without_last(places: Tensor) -> Tensor:
    return places & (places.flip(1).cumsum(1).flip(1) > 1)
