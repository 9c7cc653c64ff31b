"""Multiple choice: which of several texts is right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from foreword.tasks.choices import ChoiceSettings
from foreword.tasks.example import Example, Label
from foreword.tasks.labelled.base import LabelledKind, filled
from foreword.tasks.labelled.columns import OPTIONS, Columns, field
from foreword.tasks.template import Row

NUMBERED = ("choice", "option", "ending", "answer")  # stems of choice0, choice1 ...
LETTERS = "ABCDEFGH"


class MultipleChoice(ChoiceSettings, LabelledKind):
    """Which of several texts is right?"""

    in_words: ClassVar[str] = "multiple choice"
    reads: ClassVar[tuple[str, ...]] = ("context", "question", "choices")
    answer: ClassVar[str] = "gold"
    columns: ClassVar[tuple[str, ...]] = ("context", "choices (or choice0, choice1 ...)", "label")
    kind: Literal["choice"] = "choice"
    metrics: tuple[str, ...] = ("accuracy",)
    context: str
    question: str = ""

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        options, there = columns.first(*OPTIONS), list(columns.rows[0])
        stems = {stem: [name for name in there if name.rstrip("0123456789") == stem != name] for stem in NUMBERED}
        numbered = next((names for names in stems.values() if len(names) > 1), [])
        several = numbered or [name for name in LETTERS if name in there]
        choices: Any = field(options) if options else tuple(map(field, several))
        context = columns.first("context", "ctx", "article", "passage", "question", "stem", "query", "text", "sentence")
        gold = columns.first("label", "gold", "answer", "key", "answerKey", "right")
        if not (context and gold and choices):
            return None
        question = "{question}" if "question" in there and context != "question" else ""
        lettered = all(len(said) == 1 and said.isalpha() for said in columns.values(gold))
        labels = tuple(LETTERS) if lettered else ()
        made = cls(context=field(context), question=question, choices=choices, gold=field(gold), labels=labels)
        return made, f"columns {context}, {options or ', '.join(several)} and {gold}"

    def read(self, row: Row) -> Example:
        texts = tuple(filled(template, row) for template in (self.context, self.question) if template)
        return Example("", texts, choices=tuple(self.offered(row)))

    def label_in(self, row: Row, read: Example) -> int:
        return self.right(row)

    def as_source(self, example: Example) -> str:
        texts = zip(("context", "question"), example.texts)
        choices = ((f"choice{number}", text) for number, text in enumerate(example.choices, 1))
        return " ".join(f"{name}: {text}" for name, text in (*texts, *choices))

    def as_target(self, example: Example) -> str:
        return f"choice{int(example.number) + 1}"

    def from_text(self, said: str, chance: float, example: Example, labels: Sequence[str]) -> int:
        offered = [f"choice{number}" for number in range(1, len(example.choices) + 1)]
        return offered.index(said) if said in offered else -1

    def shuffled_labels(self, examples: Sequence[Example], rng: np.random.Generator) -> list[Label]:
        return [int(rng.integers(len(example.choices))) for example in examples]
