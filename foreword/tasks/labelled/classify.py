"""Classification of a text or of a pair of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from foreword.basics.messages import did_you_mean
from foreword.tasks.example import Example, Label
from foreword.tasks.labelled.base import LabelledKind, WrongRow, filled
from foreword.tasks.prompted.request import Row, Unusable
from foreword.tasks.template import render


class ClassLabels(LabelledKind):
    """What has the name of a class as its label."""

    metrics: tuple[str, ...] = ("accuracy", "macro_f1")
    label: str
    names: dict[str, str] = {}         # what the file writes -> what it means; else as written
    skip: tuple[str, ...] = ()         # written where annotators did not agree: such rows are left out

    def answers(self) -> dict[str, str]:
        return {"label": self.label}

    def class_of(self, row: Row) -> str:
        said = render(self.label, row).strip()
        if said in self.skip:
            raise Unusable(f"its label is {said!r}")
        if not said:
            raise WrongRow("this row has no label.", "Write one, or remove the row.")
        if self.names and said not in self.names and said not in self.names.values():
            raise WrongRow(f"the label {said!r} is not one of {', '.join(self.names)}.{did_you_mean(said, self.names)}")
        return self.names.get(said, said)

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        there = {str(label) for label in labels}
        if self.names:
            return tuple(dict.fromkeys(name for name in self.names.values() if name in there))
        return tuple(sorted(there, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name)))

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        return [] if label in known else [str(label)]


class Classification(ClassLabels):
    """Which class is a text of?"""

    in_words: ClassVar[str] = "single-text classification"
    kind: Literal["classify"] = "classify"
    text: str

    def inputs(self) -> dict[str, str]:
        return {"text": self.text}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        return Example(self.called(row, number), (filled(self.text, row),), self.class_of(row) if labelled else None, where=where)


class PairClassification(ClassLabels):
    """Which class is a pair of texts of?"""

    in_words: ClassVar[str] = "pair classification"
    kind: Literal["pair"] = "pair"
    first: str
    second: str

    def inputs(self) -> dict[str, str]:
        return {"first": self.first, "second": self.second}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.first, row), filled(self.second, row))
        return Example(self.called(row, number), texts, self.class_of(row) if labelled else None, where=where)
