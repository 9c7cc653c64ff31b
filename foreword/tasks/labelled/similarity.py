"""Similarity: a number for a pair of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.tasks.example import Example
from foreword.tasks.labelled.base import LabelledKind, number_in
from foreword.tasks.labelled.columns import LABEL, SCORE, Columns, field
from foreword.tasks.template import Row


class Similarity(LabelledKind):
    """How alike are two texts?"""

    in_words: ClassVar[str] = "similarity regression"
    reads: ClassVar[tuple[str, ...]] = ("first", "second")
    answer: ClassVar[str] = "score"
    columns: ClassVar[tuple[str, ...]] = ("sentence1", "sentence2", "score")
    constant: ClassVar[str] = "mean"
    kind: Literal["similarity"] = "similarity"
    metrics: tuple[str, ...] = ("pearson", "spearman")
    first: str
    second: str
    score: str

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        first, second = columns.two()
        score = columns.first(*SCORE)
        if not score and (label := columns.first(*LABEL)):
            said = columns.values(label)
            if all(map(_is_number, said)) and (columns.asked or any(not float(one).is_integer() for one in said)):
                score = label  # 3.8 is no class; 4 is one, unless the kind is given
        if not (first and score):
            return None
        return (
            cls(first=field(first), second=field(second), score=field(score)),
            f"columns {first}, {second} and {score}, which is a number",
        )

    def label_in(self, row: Row, read: Example) -> float:
        return number_in(self.score, row)

    def as_target(self, example: Example) -> str:
        return f"{round(example.number * 5) / 5:.1f}"  # steps of 0.2, as annotators' means have them

    def from_text(self, said: str, chance: float, example: Example, labels: Sequence[str]) -> float:
        return float(said) if _is_number(said) else 0.0

    def constant_answer(self, train: Sequence[Example]) -> Callable[[Example], float]:
        mean = float(np.mean([example.number for example in train]))
        return lambda example: mean


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False
