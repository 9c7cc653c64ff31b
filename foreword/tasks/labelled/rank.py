"""Ranking: how relevant is each candidate to its query?"""

from __future__ import annotations

from typing import ClassVar, Literal

from foreword.tasks.example import Example
from foreword.tasks.labelled.base import LabelledKind, filled, number_in
from foreword.tasks.prompted.request import Row
from foreword.tasks.template import render


class Ranking(LabelledKind):
    """How relevant is each candidate to its query? Candidates of one query are one group."""

    in_words: ClassVar[str] = "relevance ranking"
    kind: Literal["rank"] = "rank"
    metrics: tuple[str, ...] = ("map", "mrr")
    query: str
    candidate: str
    relevance: str
    names: dict[str, float] = {}       # what the file writes -> relevance; else a number
    group_by: str = ""                 # else the query

    def inputs(self) -> dict[str, str]:
        return {"query": self.query, "candidate": self.candidate}

    def answers(self) -> dict[str, str]:
        return {"relevance": self.relevance}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.query, row), filled(self.candidate, row))
        said = render(self.relevance, row).strip() if labelled else ""
        label = self.names[said] if said in self.names else number_in(self.relevance, row) if labelled else None
        return Example(self.called(row, number), texts, label, group=render(self.group_by or self.query, row), where=where)
