"""The columns of a file of examples, found by the names that people give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foreword.basics.messages import did_you_mean
from foreword.tasks.template import Row

FIRST = ("sentence1", "premise", "text1", "text_a", "question1", "first")
SECOND = ("sentence2", "hypothesis", "text2", "text_b", "question2", "second")
ALONE = ("text", "sentence", "content", "review", "text_a", "sentence1", "question")
LABEL = ("label", "gold_label", "labels", "class", "category", "target", "gold")
SCORE = ("score", "similarity")
OPTIONS = ("choices", "options", "endings")
OTHERS = ("context", "answers", "words", "tags", "query", "relevance")


@dataclass(frozen=True)
class Columns:
    rows: Sequence[Row]
    asked: bool = False  # the user has named the kind: columns need only fit, not prove it

    def __contains__(self, name: str) -> bool:
        return name in self.rows[0]

    def first(self, *names: str) -> str:
        """The first of these columns that is there, or nothing."""
        return next((name for name in names if name in self), "")

    def two(self) -> tuple[str, str]:
        """The columns of a pair of texts, or nothing twice."""
        first, second = self.first(*FIRST), self.first(*SECOND)
        if not second and "question" in self:
            first, second = "question", self.first("sentence", "answer", "context", "passage")
        return (first, second) if first and second else ("", "")

    def values(self, column: str) -> set[str]:
        return {str(row.get(column, "")).strip() for row in self.rows}

    def classes(self, label: str, *texts: str) -> str:
        return f"columns {', '.join(texts)} and {label}, {len(self.values(label)):,} different labels"

    def mistyped(self) -> str:
        """A usual name that one of the columns may be meant to have."""
        known = (*ALONE, *FIRST, *SECOND, *LABEL, *SCORE, *OPTIONS, *OTHERS)
        return next((said for name in self.rows[0] if name not in known and (said := did_you_mean(name, known))), "")


def field(name: str) -> str:
    """The template of one column."""
    return f"{{{name}}}"
