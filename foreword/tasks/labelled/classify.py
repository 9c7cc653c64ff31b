"""Classification of a text or of a pair of texts: a label is the name of a class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from foreword.basics.messages import did_you_mean
from foreword.tasks.example import Example, Label, UnusableExample
from foreword.tasks.labelled.base import InvalidRow, LabelledKind
from foreword.tasks.labelled.columns import ALONE, LABEL, Columns, field
from foreword.tasks.template import Row, render


class ClassLabels(LabelledKind):
    """What has the name of a class as its label."""

    metrics: tuple[str, ...] = ("accuracy", "macro_f1")
    label: str
    names: dict[str, str] = {}  # what the file writes -> what it means; else as written
    skip: tuple[str, ...] = ()  # written where annotators did not agree: such rows are left out

    answer: ClassVar[str] = "label"
    has_classes: ClassVar[bool] = True
    finite_labels: ClassVar[bool] = True
    constant: ClassVar[str] = "majority"

    def label_in(self, row: Row, read: Example) -> str:
        said = render(self.label, row).strip()
        if said in self.skip:
            raise UnusableExample(f"its label is {said!r}")
        if not said:
            raise InvalidRow("this row has no label.", "Write one, or remove the row.")
        if self.names and said not in self.names and said not in self.names.values():
            raise InvalidRow(
                f"the label {said!r} is not one of {', '.join(self.names)}.{did_you_mean(said, self.names)}"
            )
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
    reads: ClassVar[tuple[str, ...]] = ("text",)
    columns: ClassVar[tuple[str, ...]] = ("text", "label")
    lines: ClassVar[bool] = True
    kind: Literal["classify"] = "classify"
    text: str

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        text, label = columns.first(*ALONE), columns.first(*LABEL)
        return (cls(text=field(text), label=field(label)), columns.classes(label, text)) if text and label else None


class PairClassification(ClassLabels):
    """Which class is a pair of texts of?"""

    in_words: ClassVar[str] = "pair classification"
    reads: ClassVar[tuple[str, ...]] = ("first", "second")
    columns: ClassVar[tuple[str, ...]] = ("sentence1", "sentence2", "label")
    kind: Literal["pair"] = "pair"
    first: str
    second: str

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        (first, second), label = columns.two(), columns.first(*LABEL)
        if not (first and label):
            return None
        return (
            cls(first=field(first), second=field(second), label=field(label), skip=("-",)),
            columns.classes(label, first, second),
        )
