"""SpansInContext: which tokens of a row are guessed. Spans of whole words, each inside a longer stretch that is seen."""

from __future__ import annotations

from typing import Literal

import numpy as np

from foreword.basics.numbers import Size
from foreword.batches.row import Row
from foreword.objectives.base import Objective


class SpansInContext(Objective):
    """A span of n words or tokens, n from 1 to `span` with shares 1/n, lies anywhere in `one_in` times its own length.

    The paper counts tokens; its code means words, and counts tokens by a slip. Spans begin where a word does, and
    single tokens are added until exactly one in so many is chosen.
    """

    one_in: Size = 6  # K of the paper: so many tokens for one that is guessed
    span: Size = 5  # the longest; 1: single tokens
    unit: Literal["word", "token"] = "word"  # what a span has so many of

    @property
    def marks(self) -> tuple[str, ...]:
        return ("word_start",) if self.span > 1 else ()

    def starts(self, row: Row, length: int) -> np.ndarray:
        """[positions] where words begin; of a text that runs backward, where they end."""
        found = np.ones(length, bool)
        if self.marks:
            marks, second = row.marks["word_start"], row.second_marks.get("word_start", np.zeros(0, bool))
            found[: len(marks)] = marks
            found[len(marks) + 1 : len(marks) + 1 + len(second)] = second
        return found

    def goals(self, parts: np.ndarray) -> list[tuple[int, int]]:
        """(part, how many of it are guessed), in all one in so many positions."""
        sizes = np.bincount(parts)
        goals = sizes // self.one_in
        goals[-1] += max(len(parts) // self.one_in, 1) - goals.sum()
        return [(part, goal) for part, goal in enumerate(goals.tolist()) if goal]

    def choose(self, where: np.ndarray, starts: np.ndarray, ordinary: np.ndarray, goal: int, row: Row) -> np.ndarray:
        """`goal` of these positions, sorted."""
        way = slice(None, None, -1 if row.backward else 1)  # spans are found in the order in which people read
        begins, free = starts[where][way].astype(bool), ordinary[where][way]
        chosen = np.zeros(len(where), bool)
        if self.span > 1:
            for start, stop in self.spans(begins, free, goal, row.chance):
                chosen[start:stop] = True
        rest = np.flatnonzero(free & ~chosen)
        chosen[row.chance.permutation(rest)[: max(goal - int(chosen.sum()), 0)]] = True
        return np.flatnonzero(chosen[way]) + where[0]

    def spans(
        self, begins: np.ndarray, free: np.ndarray, goal: int, draw: np.random.Generator
    ) -> list[tuple[int, int]]:
        """(start, stop) of spans, one behind the other, of at most `goal` tokens in all."""
        words = np.flatnonzero(begins & free)
        edges = np.append(np.flatnonzero((begins if self.unit == "word" else free) | ~free), len(free))
        lengths = np.arange(1, self.span + 1)
        shares = (1 / lengths) / (1 / lengths).sum()
        found: list[tuple[int, int]] = []
        at, left = 0, goal
        while left > 0:
            length = int(draw.choice(lengths, p=shares))
            before = int(draw.integers((self.one_in - 1) * length + 1))
            place = np.searchsorted(words, at + before)
            if place == len(words):
                break
            start = int(words[place])
            behind = edges[edges > start][:length]
            stopped = np.flatnonzero(~np.append(free, False)[behind])  # a special ends a span
            stop = int(behind[stopped[0]] if len(stopped) else behind[-1])
            if stop - start > left:
                break
            found.append((start, stop))
            left -= stop - start
            at = stop + max((self.one_in - 1) * (stop - start) - (start - at), 0)
        return found
