"""Layouts: which blocks of a matrix there are. In a small world everything is reached in a few steps (Gray et al. 2017)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from foreword.basics.numbers import Seed, Share, Size
from foreword.basics.seeds import chance
from foreword.basics.spec import Spec


class LayoutSpec(Spec):
    """The blocks of a square matrix. A longer one has several squares side by side, each drawn anew."""

    seed: Seed = 0

    def square(self, size: int, seed: int) -> np.ndarray:
        """[inputs, outputs] in blocks, True where there is one."""
        raise TypeError(f"{type(self).__name__} draws nothing.")

    def blocks(self, inputs: int, outputs: int) -> np.ndarray:
        """[inputs, outputs], one of which divides the other."""
        size = min(inputs, outputs)
        squares = [self.square(size, self.seed + number) for number in range(max(inputs, outputs) // size)]
        return np.concatenate(squares, 1 if outputs > inputs else 0)


class WattsStrogatz(LayoutSpec):
    """A ring in which everyone knows his neighbours, and some of these ties are led elsewhere (Watts & Strogatz 1998)."""

    kind: Literal["watts_strogatz"] = "watts_strogatz"
    neighbours: Size = 6  # on both sides together, an even number; everyone knows himself too
    rewired: Share = 0.2  # share of ties that are led to someone drawn at random

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if self.neighbours < 2 or self.neighbours % 2:
            found.append(("neighbours", f"neighbours must be even and at least 2 (it says {self.neighbours})."))
        if not 0 <= self.rewired <= 1:
            found.append(("rewired", f"rewired must lie between 0 and 1 (it says {self.rewired})."))
        return found

    def square(self, size: int, seed: int) -> np.ndarray:
        return self.graph(size, seed) | np.eye(size, dtype=bool)

    def graph(self, size: int, seed: int) -> np.ndarray:
        if self.neighbours >= size - 1:
            return ~np.eye(size, dtype=bool)
        draw, tied = chance(seed, 1), np.zeros((size, size), bool)
        for step in range(1, self.neighbours // 2 + 1):
            here = np.arange(size)
            tied[here, (here + step) % size] = tied[(here + step) % size, here] = True
        for step in range(1, self.neighbours // 2 + 1):
            for one in range(size):
                other = (one + step) % size
                if draw.random() >= self.rewired:
                    continue
                free = np.flatnonzero(~tied[one])
                free = free[free != one]
                if len(free):
                    new = int(draw.choice(free))
                    tied[one, other] = tied[other, one] = False
                    tied[one, new] = tied[new, one] = True
        return tied


class BarabasiAlbert(LayoutSpec):
    """Newcomers are tied to those who have many ties (Barabasi & Albert 1999); the first ones all to each other."""

    kind: Literal["barabasi_albert"] = "barabasi_albert"
    attached: Size = 3  # ties of each newcomer; everyone knows himself too

    def square(self, size: int, seed: int) -> np.ndarray:
        found = self.graph(size, seed) | np.eye(size, dtype=bool)
        found[: self.attached, : self.attached] = True
        return found

    def graph(self, size: int, seed: int) -> np.ndarray:
        if self.attached >= size:
            return ~np.eye(size, dtype=bool)
        draw, tied = chance(seed, 2), np.zeros((size, size), bool)
        ends = list(range(self.attached))  # everyone as often as he has ties; the first newcomer knows all of the first
        for new in range(self.attached, size):
            old = set(range(self.attached)) if new == self.attached else set[int]()
            while len(old) < self.attached:
                old.add(ends[int(draw.integers(len(ends)))])
            if new == self.attached:
                ends = []
            for one in sorted(old):
                tied[one, new] = tied[new, one] = True
                ends += [one, new]
        return tied


class Balanced(LayoutSpec):
    """As many blocks in every row and every column, drawn at random: no part of the work is longer than another."""

    kind: Literal["balanced"] = "balanced"
    each: Size = 6  # blocks of a row, and of a column

    def square(self, size: int, seed: int) -> np.ndarray:
        draw, found = chance(seed, 3), np.zeros((size, size), bool)
        rows, columns = draw.permutation(size), draw.permutation(size)
        for offset in draw.permutation(size)[: self.each]:
            found[rows, columns[(np.arange(size) + offset) % size]] = True
        return found


class Diagonal(LayoutSpec):
    """Blocks that never meet: what a layout that mixes is compared with."""

    kind: Literal["diagonal"] = "diagonal"

    def square(self, size: int, seed: int) -> np.ndarray:
        return np.eye(size, dtype=bool)


class Full(LayoutSpec):
    """Every block: a dense matrix, in pieces."""

    kind: Literal["full"] = "full"

    def square(self, size: int, seed: int) -> np.ndarray:
        return np.ones((size, size), bool)


def mixing_steps(layout: np.ndarray) -> int | None:
    """After how many products of a square layout with itself everything has reached everything; None: it never does."""
    reached, before = layout, np.zeros_like(layout)
    for steps in range(1, len(layout) + 1):
        if reached.all():
            return steps
        if (reached == before).all():
            return None
        before, reached = reached, (reached.astype(np.float32) @ layout.astype(np.float32)) > 0
    return None
