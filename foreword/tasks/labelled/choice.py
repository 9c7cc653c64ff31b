"""Multiple choice: which of several texts is right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from foreword.tasks.example import Example, Label, right_place
from foreword.tasks.labelled.base import LabelledKind, filled
from foreword.tasks.labelled.columns import OPTIONS, Columns, field
from foreword.tasks.template import Row, items, render

NUMBERED = ("choice", "option", "ending", "answer")  # stems of choice0, choice1 ...
LETTERS = "ABCDEFGH"


class MultipleChoice(LabelledKind):
    """Which of several texts is right?"""

    in_words: ClassVar[str] = "multiple choice"
    reads: ClassVar[tuple[str, ...]] = ("context", "question", "choices")
    answer: ClassVar[str] = "gold"
    columns: ClassVar[tuple[str, ...]] = ("context", "choices (or choice0, choice1 ...)", "label")
    kind: Literal["choice"] = "choice"
    metrics: tuple[str, ...] = ("accuracy",)
    context: str
    question: str = ""
    choices: str | tuple[str, ...]  # a field that holds a list, or a template for each
    gold: str  # its place, counted from 0; or one of `labels`
    labels: tuple[str, ...] = ()  # what the right answer is called, for each choice; "A|1" is either

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        options, there = columns.first(*OPTIONS), list(columns.rows[0])
        numbered = next(
            (
                found
                for stem in NUMBERED
                if len(found := [name for name in there if name.rstrip("0123456789") == stem != name]) > 1
            ),
            [],
        )
        several = numbered or [name for name in LETTERS if name in there]
        choices: Any = field(options) if options else tuple(map(field, several))
        context = columns.first("context", "ctx", "article", "passage", "question", "text", "sentence")
        gold = columns.first("label", "gold", "answer", "key", "answerKey", "right")
        if not (context and gold and choices):
            return None
        question = "{question}" if "question" in there and context != "question" else ""
        lettered = all(len(said) == 1 and said.isalpha() for said in columns.values(gold))
        return (
            cls(
                context=field(context),
                question=question,
                choices=choices,
                gold=field(gold),
                labels=tuple(LETTERS) if lettered else (),
            ),
            f"columns {context}, {options or ', '.join(several)} and {gold}",
        )

    def read(self, row: Row) -> Example:
        choices = (
            items(self.choices, row) if isinstance(self.choices, str) else [render(one, row) for one in self.choices]
        )
        texts = tuple(filled(template, row) for template in (self.context, self.question) if template)
        return Example("", texts, choices=tuple(choices))

    def label_in(self, row: Row, read: Example) -> int:
        return right_place(render(self.gold, row), self.labels, len(read.choices))

    def shuffled_labels(self, examples: Sequence[Example], dice: np.random.Generator) -> list[Label]:
        return [int(dice.integers(len(example.choices))) for example in examples]
