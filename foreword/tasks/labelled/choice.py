"""Multiple choice: which of several texts is right?"""

from __future__ import annotations

from typing import ClassVar, Literal

from foreword.tasks.example import Example
from foreword.tasks.labelled.base import LabelledKind, filled
from foreword.tasks.prompted.multiple_choice import right_place
from foreword.tasks.prompted.request import Row
from foreword.tasks.template import items, render


class MultipleChoice(LabelledKind):
    """Which of several texts is right?"""

    in_words: ClassVar[str] = "multiple choice"
    kind: Literal["choice"] = "choice"
    metrics: tuple[str, ...] = ("accuracy",)
    context: str
    question: str = ""
    choices: str | tuple[str, ...]     # a field that holds a list, or a template for each
    gold: str                          # its place, counted from 0; or one of `labels`
    labels: tuple[str, ...] = ()       # what the right answer is called, for each choice; "A|1" is either

    def inputs(self) -> dict[str, str]:
        choices = {"choices": self.choices} if isinstance(self.choices, str) else {
            f"choices.{number}": template for number, template in enumerate(self.choices)}
        return {"context": self.context, **({"question": self.question} if self.question else {}), **choices}

    def answers(self) -> dict[str, str]:
        return {"gold": self.gold}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        choices = items(self.choices, row) if isinstance(self.choices, str) else [render(one, row) for one in self.choices]
        texts = tuple(filled(template, row) for template in (self.context, self.question) if template)
        right = right_place(render(self.gold, row), self.labels, len(choices)) if labelled else None
        return Example(self.called(row, number), texts, right, choices=tuple(choices), where=where)
