"""Algorithmic tasks: digits to be copied, reversed or added. What is learned is short, what is asked is longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from foreword.basics.seeds import chance, number_of
from foreword.tasks.files import ExampleSource, SearchPath
from foreword.tasks.template import Row


class Symbols(ExampleSource):
    """Strings of digits, all different; those asked are longer than those learned from."""

    kind: Literal["symbols"] = "symbols"
    way: Literal["copy", "reverse", "add"]
    longest: int = 10  # symbols to learn from; of a sum, digits of each number
    asked: int = 20  # symbols of every string that is asked
    items: int = 10_000  # to learn from
    asked_items: int = 500
    seed: int = 0

    def faults(self) -> list[tuple[str, str]]:
        return [
            (name, f"{name} must be at least 1 (it says {value}).")
            for name in ("longest", "asked", "items", "asked_items")
            if (value := getattr(self, name)) < 1
        ]

    def splits(self) -> list[str]:
        return ["train", "test"]

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        rng = chance(self.seed, number_of(f"{self.way} {split}"))
        wanted = self.items if split == "train" else self.asked_items
        found: dict[str, str] = {}
        for _ in range(20 * wanted):  # short strings are few: there may not be as many as are wanted
            length = int(rng.integers(1, self.longest + 1)) if split == "train" else self.asked
            given, answer = _MAKERS[self.way](length, rng)
            found[given] = answer
            if len(found) == wanted:
                break
        return [{"given": given, "answer": answer} for given, answer in found.items()]


def _digits(length: int, rng: np.random.Generator) -> list[str]:
    return [str(int(digit)) for digit in rng.integers(10, size=length)]


def _copied(length: int, rng: np.random.Generator) -> tuple[str, str]:
    given = " ".join(_digits(length, rng))
    return given, given


def _reversed(length: int, rng: np.random.Generator) -> tuple[str, str]:
    given = _digits(length, rng)
    return " ".join(given), " ".join(given[::-1])


def _added(length: int, rng: np.random.Generator) -> tuple[str, str]:
    """Two numbers of as many digits, and their sum with one more, zeros in front kept: every place has its place."""
    first, second = _digits(length, rng), _digits(length, rng)
    total = str(int("".join(first)) + int("".join(second))).zfill(length + 1)
    return " ".join([*first, "+", *second]), " ".join(total)


_MAKERS = {"copy": _copied, "reverse": _reversed, "add": _added}
