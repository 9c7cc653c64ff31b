"""Sums in words, as GPT-3 was asked them: ten operations, 2,000 distinct questions each (Brown et al. 2020, 3.9.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from foreword.basics.seeds import chance, number_of
from foreword.tasks.files import Generated, SearchPath
from foreword.tasks.template import Row

Asked = tuple[str, int]  # a question, its answer


def _two(digits: int, word: str, solve: Callable[[int, int], int]) -> Callable[[np.random.Generator], Asked]:
    def draw(rng: np.random.Generator) -> Asked:
        a, b = (int(n) for n in rng.integers(10**digits, size=2))  # [0, 100) is "two digits" in the paper
        return f"What is {a} {word} {b}?", solve(a, b)

    return draw


def _composite(rng: np.random.Generator) -> Asked:
    """Three one-digit numbers, brackets around the last two."""
    a, b, c = (int(n) for n in rng.integers(10, size=3))
    outer, inner = (("+", "-", "*")[int(n)] for n in rng.integers(3, size=2))
    return f"What is {a}{outer}({b}{inner}{c})?", SIGNS[outer](a, SIGNS[inner](b, c))


SIGNS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
OPERATIONS: dict[str, Callable[[np.random.Generator], Asked]] = {
    **{f"{name}_digit_addition": _two(digits, "plus", SIGNS["+"]) for name, digits in NUMBERS.items()},
    **{f"{name}_digit_subtraction": _two(digits, "minus", SIGNS["-"]) for name, digits in NUMBERS.items()},
    "two_digit_multiplication": _two(2, "times", SIGNS["*"]),
    "one_digit_composite": _composite,
}


class Arithmetic(Generated):
    """Questions drawn by a seed, all different; those of the train split are none of the test split's."""

    kind: Literal["arithmetic"] = "arithmetic"
    operation: str  # one of OPERATIONS
    items: int = 2000

    def faults(self) -> list[tuple[str, str]]:
        wrong = {
            "items": ""
            if 1 <= self.items <= 2000
            else f"1 to 2,000 of each split can be drawn (it says {self.items:,}).",
            "operation": "" if self.operation in OPERATIONS else f"it is not one of {', '.join(OPERATIONS)}.",
        }
        return [(setting, said) for setting, said in wrong.items() if said]

    def drawn(self, where: SearchPath) -> Sequence[Row]:
        rng = chance(self.seed, number_of(self.operation))
        found: dict[str, int] = {}
        while len(found) < 2 * self.items:
            question, answer = OPERATIONS[self.operation](rng)
            found[question] = answer
        return [{"question": question, "answer": str(answer)} for question, answer in found.items()]
