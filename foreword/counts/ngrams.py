"""The first rungs: uniform, and n-grams with a count added to everything (Lidstone)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from foreword.basics.numbers import Order
from foreword.counts.back_off import TrieModel, logarithm
from foreword.counts.model import CountModel, CountSpec
from foreword.counts.trie import SHORTER, Trie, count_ngrams, known

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary

GRID = 10.0 ** (np.arange(-48, 9) / 8)  # what a fitted k may be: eight steps per decade from 1e-6 to 10


class NGram(CountSpec):
    """`order` 0 is uniform, 1 counts tokens, 2 pairs. `add` is what every continuation is given for nothing.

    "fitted" takes the k of GRID that makes the held-out text likeliest; without held-out text k = 1 / size: one
    count per history, shared by all tokens (Perks).
    """

    kind: Literal["ngram"] = "ngram"
    order: Order
    add: float | Literal["fitted"] = "fitted"

    def faults(self) -> list[tuple[str, str]]:
        if self.add == "fitted" or self.add >= 0:
            return []
        return [("add", f"a count to add must be 0 or more (it says {self.add}).")]

    def build(self, vocabulary: Vocabulary) -> CountModel:
        if self.order == 0:
            return UniformModel(vocabulary)
        return NGramModel(vocabulary, self.order, None if self.add == "fitted" else self.add)


class UniformModel(CountModel):
    """Every ordinary token equally likely; not `end`, so that bytes cost exactly eight bits each."""

    def __init__(self, vocabulary: Vocabulary):
        super().__init__(vocabulary)
        ordinary = self.events.copy()
        if vocabulary.end >= 0:
            ordinary[vocabulary.end] = False
        self.log_probs = np.where(ordinary, -np.log(ordinary.sum()), -np.inf)

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """There is nothing to learn."""

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(self.log_probs, (len(prompts), 1)), np.zeros((len(prompts), 0), np.int64)

    def advance(self, tokens: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(self.log_probs, (len(tokens), 1)), state

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        return [self.log_probs[self.checked(ids)[max(start, 1) :]] for ids, start in zip(sequences, starts)]

    def arrays(self) -> dict[str, np.ndarray]:
        return {"log_probs": self.log_probs}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.log_probs = arrays["log_probs"]


class NGramModel(TrieModel):
    """(c(h w) + k) / (c(h) + k |V|), with h the order - 1 tokens before w, fewer at the start of a document.

    A history that was never counted predicts every token alike (what the formula gives for any k above 0).
    """

    def __init__(self, vocabulary: Vocabulary, order: int, add: float | None):
        super().__init__(vocabulary)
        self.order, self.wanted = order, add
        self.add = 0.0
        self.counts: list[np.ndarray] = []  # by length of n-gram
        self.totals: list[np.ndarray] = []  # by length of history, from none on

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        base = self.vocabulary.size + 1
        single, levels = count_ngrams(self.ids(), self.order, self.begins, base)
        self.trie = Trie(base, self.begins, [level.keys for level in levels])
        self.counts = [single, *(level.counts for level in levels)]
        self.totals = [np.array([single.sum()], float)]
        for shorter, level in zip(self.counts, levels):
            self.totals.append(np.bincount(level.keys // base, level.counts, len(shorter)))
        self.add = self._fitted(held_out) if self.wanted is None else self.wanted

    def _fitted(self, held_out: np.ndarray | None) -> float:
        if held_out is None or not len(held_out):
            return 1 / self.vocabulary.size
        tokens = np.append(self.begins, self.checked(held_out))
        counts, totals = self._met(tokens, np.arange(len(tokens)) == 0)
        likelihoods = [logarithm(smoothed(counts[1:], totals[1:], add, int(self.events.sum()))).sum() for add in GRID]
        return float(GRID[np.argmax(likelihoods)])

    def _met(self, tokens: np.ndarray, opens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c(h w) and c(h) at every position."""
        counts = self.counts[0][tokens].astype(float)
        totals = np.full(len(tokens), self.totals[0][0])
        for level, histories, grams in self.trie.walk(tokens, opens):
            longer = histories != SHORTER
            counts[longer] = known(self.counts[level - 1], grams[longer])
            totals[longer] = known(self.totals[level - 1], histories[longer])
        return counts, totals

    def each(self, tokens: np.ndarray, opens: np.ndarray) -> np.ndarray:
        counts, totals = self._met(tokens, opens)
        return np.where(self.events[tokens], smoothed(counts, totals, self.add, int(self.events.sum())), 0.0)

    def spread(self, state: np.ndarray) -> np.ndarray:
        counts = np.tile(self.counts[0][:-1].astype(float), (len(state), 1))
        totals = np.full(len(state), self.totals[0][0])
        for length in range(1, self.trie.order):
            longer = state[:, length - 1] != SHORTER
            counts[longer], totals[longer] = 0.0, 0.0
            rows = np.flatnonzero(state[:, length - 1] >= 0)
            histories = state[rows, length - 1]
            which, tokens, index = self.trie.continuations(length + 1, histories)
            counts[rows[which], tokens] = self.counts[length][index]
            totals[rows] = self.totals[length][histories]
        return np.where(self.events, smoothed(counts, totals[:, None], self.add, int(self.events.sum())), 0.0)

    def arrays(self) -> dict[str, np.ndarray]:
        named = {f"counts.{length + 1}": counts for length, counts in enumerate(self.counts)}
        named |= {f"totals.{length}": totals for length, totals in enumerate(self.totals)}
        named |= {f"keys.{length + 2}": keys for length, keys in enumerate(self.trie.keys)}
        return named | {"add": np.array([self.add])}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.order = sum(name.startswith("counts.") for name in arrays)
        self.counts = [arrays[f"counts.{length}"] for length in range(1, self.order + 1)]
        self.totals = [arrays[f"totals.{length}"] for length in range(self.order)]
        keys = [arrays[f"keys.{length}"] for length in range(2, self.order + 1)]
        self.trie = Trie(self.vocabulary.size + 1, self.begins, keys)
        self.add = float(arrays["add"][0])


def smoothed(counts: np.ndarray, totals: np.ndarray, add: float, events: int) -> np.ndarray:
    """Add-k; with nothing counted and nothing added, uniform."""
    below = totals + add * events
    return np.where(below > 0, (counts + add) / np.where(below > 0, below, 1.0), 1 / events)
