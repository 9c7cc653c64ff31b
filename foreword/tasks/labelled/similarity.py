"""Similarity: a number for a pair of texts."""

from __future__ import annotations

from typing import ClassVar, Literal

from foreword.tasks.example import Example
from foreword.tasks.labelled.base import LabelledKind, filled, number_in
from foreword.tasks.prompted.request import Row


class Similarity(LabelledKind):
    """How alike are two texts?"""

    in_words: ClassVar[str] = "similarity regression"
    kind: Literal["similarity"] = "similarity"
    metrics: tuple[str, ...] = ("pearson", "spearman")
    first: str
    second: str
    score: str

    def inputs(self) -> dict[str, str]:
        return {"first": self.first, "second": self.second}

    def answers(self) -> dict[str, str]:
        return {"score": self.score}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.first, row), filled(self.second, row))
        return Example(self.called(row, number), texts, number_in(self.score, row) if labelled else None, where=where)
