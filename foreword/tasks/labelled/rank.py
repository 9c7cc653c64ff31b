"""Ranking: how relevant is each candidate to its query?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from foreword.tasks.example import Example, Label, groups
from foreword.tasks.labelled.base import LabelledKind, number_in
from foreword.tasks.labelled.columns import Columns, field
from foreword.tasks.template import Row, render


class Ranking(LabelledKind):
    """How relevant is each candidate to its query? Candidates of one query are one group."""

    in_words: ClassVar[str] = "relevance ranking"
    reads: ClassVar[tuple[str, ...]] = ("query", "candidate")
    answer: ClassVar[str] = "relevance"
    columns: ClassVar[tuple[str, ...]] = ("query", "candidate", "relevance")
    kind: Literal["rank"] = "rank"
    metrics: tuple[str, ...] = ("map", "mrr")
    query: str
    candidate: str
    relevance: str
    names: dict[str, float] = {}  # what the file writes -> relevance; else a number
    group_by: str = ""  # else the query

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        query = columns.first("query", "question")
        candidate = columns.first("candidate", "passage", "document", "answer", "sentence")
        relevance = columns.first("relevance", "relevant", "label")
        sure = columns.asked or query == "query" or relevance.startswith("relevan")
        if not (query and candidate and relevance and sure):
            return None
        return (
            cls(query=field(query), candidate=field(candidate), relevance=field(relevance)),
            f"columns {query}, {candidate} and {relevance}, {len(columns.values(query)):,} different queries",
        )

    def read(self, row: Row) -> Example:
        return replace(super().read(row), group=render(self.group_by or self.query, row))

    def label_in(self, row: Row, read: Example) -> float:
        said = render(self.relevance, row).strip()
        return self.names[said] if said in self.names else number_in(self.relevance, row)

    def as_target(self, example: Example) -> str:
        return "true" if example.number > 0 else "false"

    def from_text(self, said: str, chance: float, example: Example, labels: Sequence[str]) -> float:
        return {"true": chance, "false": 1 - chance}.get(said, 0.0)

    def constant_answer(self, train: Sequence[Example]) -> Callable[[Example], float]:
        return lambda example: 0.0

    def shuffled_labels(self, examples: Sequence[Example], rng: np.random.Generator) -> list[Label]:
        """Every query keeps as many that are relevant."""
        found: list[Label] = [None] * len(examples)
        for members in groups(examples).values():
            for place, other in zip(members, rng.permutation(members)):
                found[place] = examples[other].label
        return found
