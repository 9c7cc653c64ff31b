"""Beam search: several texts are kept at every step, and long ones are not punished for their length (Wu et al. 2016, eq. 14).

Any language model will do: one that continues a prompt, or one that reads it as a source and writes something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foreword.basics.messages import Fault
from foreword.networks.language_model import LanguageModel, State


@dataclass(frozen=True)
class Beam:
    """A text's score is its log-probability, [end] included, divided by ((5 + its tokens) / 6) to the power `length_penalty`."""

    size: int = 4
    length_penalty: float = 0.6

    def __post_init__(self) -> None:
        if self.size < 1:
            raise Fault(f"a beam keeps at least 1 text (it says {self.size}).")
        if self.length_penalty < 0:
            raise Fault(f"length_penalty must be at least 0 (it says {self.length_penalty}).")

    def penalty(self, tokens: int) -> float:
        return ((5 + tokens) / 6) ** self.length_penalty


class Hypothesis(NamedTuple):
    ids: tuple[int, ...]  # without [end]
    log_probability: float  # [end] included
    score: float


class Fused:
    """A model inside whose beam another, of the same tokens, has a say: its log-probability counts `weight` times."""

    def __init__(self, model: LanguageModel, other: LanguageModel, weight: float):
        self.model, self.other, self.weight = model, other, weight

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Tensor, State]:
        (first, mine), (second, theirs) = (
            self.model.begin(prompts),
            self.other.begin([np.zeros(0, np.int64)] * len(prompts)),
        )
        return self._joined(first, second), (mine, theirs)

    def advance(self, tokens: np.ndarray, state: State) -> tuple[Tensor, State]:
        (first, mine), (second, theirs) = self.model.advance(tokens, state[0]), self.other.advance(tokens, state[1])
        return self._joined(first, second), (mine, theirs)

    def select(self, state: State, rows: np.ndarray) -> State:
        return self.model.select(state[0], rows), self.other.select(state[1], rows)

    def _joined(self, mine: Any, theirs: Any) -> Tensor:
        return torch.as_tensor(mine).double() + self.weight * torch.as_tensor(np.asarray(theirs)).double()


def beam_search(
    model: LanguageModel | Fused, prompts: Sequence[np.ndarray], end: int, how: Beam, limits: Sequence[int]
) -> list[list[Hypothesis]]:
    """For each prompt the finished texts, best first. A text of `limit` tokens can only end.

    A prompt leaves the batch when as many texts as the beam keeps have ended, or when none that goes on can become the best.
    """
    searches = [_Search(how, limit) for limit in limits]
    running = list(range(len(prompts)))
    logs, state = model.begin(prompts)
    rows = np.repeat(np.arange(len(prompts)), how.size)
    state, logs = model.select(state, rows), torch.as_tensor(np.asarray(logs))[rows]
    while True:
        each = logs.double().view(len(running), how.size, -1)
        parents, tokens, stays = [], [], []
        for place, (number, own) in enumerate(zip(running, each)):
            chosen = searches[number].extend(own, end)
            if not searches[number].done:
                stays.append(number)
                parents += [place * how.size + parent for parent, _ in chosen]
                tokens += [token for _, token in chosen]
        running = stays
        if not running:
            return [search.best() for search in searches]
        logs, state = model.advance(np.asarray(tokens), model.select(state, np.asarray(parents)))
        logs = torch.as_tensor(np.asarray(logs))


class _Search:
    """The texts of one prompt."""

    def __init__(self, how: Beam, limit: int):
        self.how, self.limit, self.done = how, limit, False
        self.texts: list[tuple[int, ...]] = [()] * how.size
        self.scores = torch.full((how.size,), -torch.inf, dtype=torch.float64)
        self.scores[0] = 0.0  # at the start all are the same text: only one of them counts
        self.finished: list[Hypothesis] = []

    def extend(self, logs: Tensor, end: int) -> list[tuple[int, int]]:
        """One token more for each text, logs [size, vocabulary] -> (which text it was, its new token) of those that go on."""
        size, vocabulary = logs.shape
        if len(self.texts[0]) == self.limit:
            only = torch.full_like(logs, -torch.inf)
            only[:, end] = logs[:, end]
            logs = only
        values, places = (self.scores[:, None] + logs.cpu()).flatten().topk(min(2 * size, size * vocabulary))
        goes_on: list[tuple[float, int, int]] = []
        for rank, (value, place) in enumerate(zip(values.tolist(), places.tolist())):
            parent, token = divmod(place, vocabulary)
            if value == -np.inf:
                break
            if token != end:
                goes_on.append((value, parent, token))
            elif rank < size:  # an end that is among the best as it stands
                penalty = self.how.penalty(len(self.texts[parent]) + 1)
                self.finished.append(Hypothesis(self.texts[parent], value, value / penalty))
        goes_on = goes_on[:size]
        self.done = not goes_on or len(self.finished) >= size or self._cannot_win(goes_on[0][0])
        goes_on += [(-np.inf, 0, end)] * (size - len(goes_on))  # places that hold nothing
        self.texts = [(*self.texts[parent], token) for _, parent, token in goes_on]
        self.scores = torch.tensor([value for value, _, _ in goes_on], dtype=torch.float64)
        return [(parent, token) for _, parent, token in goes_on]

    def _cannot_win(self, value: float) -> bool:
        """Whether the likeliest text that goes on, were all its further tokens certain, would stay behind the best."""
        longest = self.how.penalty(self.limit + 1)
        return bool(self.finished) and value / longest <= max(one.score for one in self.finished)

    def best(self) -> list[Hypothesis]:
        return sorted(self.finished, key=lambda one: -one.score)
