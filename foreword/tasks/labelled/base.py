"""What every kind of labelled task says: the columns it reads (by templates), its labels, its metrics, its simplest answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from foreword.tasks.example import Example, Label, Prediction
from foreword.tasks.labelled.columns import Columns
from foreword.tasks.template import Row, Templated, items, names, render, value


class InvalidRow(ValueError):
    """A row that should be mended: what is wrong with it, and what to do."""

    def __init__(self, what: str, do: str = ""):
        super().__init__(what)
        self.what, self.do = what, do


class LabelledKind(Templated):
    """One kind of labelled task: from a row to an example."""

    kind: str
    metrics: tuple[str, ...] = ()
    id: str = ""  # the row's own name; else its number
    part_by: str = ""  # what must stay in one split when splits are cut; else the first text, or what answers
    note: str = ""  # what should be said about the data
    rates: tuple[
        float, ...
    ] = ()  # published learning rates, of networks 768 wide: what --grid tries; BERT's by default
    only: dict[str, str] = {}  # rows that count: those with these values in these fields

    in_words: ClassVar[str] = ""  # the kind in plain words
    reads: ClassVar[tuple[str, ...]] = ()  # settings: templates of what is read
    answer: ClassVar[str] = ""  # the setting of what is to be found
    columns: ClassVar[tuple[str, ...]] = ()  # usual names of the columns that are read, and of the answer
    has_classes: ClassVar[bool] = False  # a label is the name of a class
    finite_labels: ClassVar[bool] = False  # classes or tags: a head has an output for each
    lines: ClassVar[bool] = False  # a line of plain text is an example to be labelled
    shuffles: ClassVar[bool] = True  # an example can have another's label, as a control
    constant: ClassVar[str] = "nothing"  # what the answer that is always the same is called

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        """(how rows with these columns are read, why); None: they do not fit this kind."""
        raise NotImplementedError

    @classmethod
    def columns_in_words(cls, answered: bool = True) -> str:
        *others, last = cls.columns if answered else cls.columns[:-1]
        return " and ".join(filter(None, [", ".join(others), last]))

    def fields(self, settings: Sequence[str] | None = None) -> list[tuple[str, str]]:
        return super().fields((*self.reads, self.answer) if settings is None else settings)

    def templates(self, settings: Sequence[str] | None = None) -> dict[str, str]:
        found = super().templates((*self.reads, self.answer) if settings is None else settings)
        return {setting: template for setting, template in found.items() if template}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        """The example of a row. Unusable: it has no right answer and is left out; WrongRow: it must be mended."""
        read = self.read(row)
        name = render(self.id, row) if self.id else str(number)
        return replace(read, id=name, label=self.label_in(row, read) if labelled else None, where=where)

    def read(self, row: Row) -> Example:
        """What is read of a row."""
        return Example("", tuple(filled(template, row) for template in self.templates(self.reads).values()))

    def label_in(self, row: Row, read: Example) -> Label:
        raise NotImplementedError

    def group(self, example: Example, row: Row) -> str:
        """What keeps examples together when splits are cut."""
        return render(self.part_by, row) if self.part_by else example.texts[0]

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        """What a head must be able to say, from the labels of train."""
        return ()

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        """Labels of a dev or test example that no training example has."""
        return []

    def converted(self, splits: dict[str, list[Example]]) -> str:
        """Labels brought into the notation that is learned, in place, before they are checked; a note about it, or nothing."""
        return ""

    def as_source(self, example: Example) -> str:
        """All that is read of an example, as one text: each part behind its name (Raffel et al. 2019, section 2.4)."""
        return " ".join(f"{name}: {text}" for name, text in zip(self.columns, example.texts))

    def as_target(self, example: Example) -> str:
        """The label, as a text that is to be written."""
        return str(example.label)

    def from_text(self, said: str, chance: float, example: Example, labels: Sequence[str]) -> Prediction:
        """What was written, and how likely that was, as a prediction. What no label is called is wrong, not nearly right."""
        return said

    def constant_answer(self, train: Sequence[Example]) -> Callable[[Example], Prediction]:
        """The answer of knowing nothing but the labels of train: the commonest."""
        most = Counter(example.label for example in train).most_common(1)[0][0]
        return lambda example: most

    def shuffled_labels(self, examples: Sequence[Example], rng: np.random.Generator) -> list[Label]:
        """The same labels, which of them is whose left to chance."""
        return [examples[place].label for place in rng.permutation(len(examples))]


def filled(template: str, row: Row) -> str:
    """A text that is not empty, without white space around."""
    if text := render(template, row).strip():
        return text
    raise InvalidRow(f"{template} is empty in this row.", "Write a text, or remove the row.")


def number_in(template: str, row: Row) -> float:
    said = render(template, row).strip()
    try:
        number = float(said)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise InvalidRow(f"{template} says {said!r}, which is not a number.")
    return number


def listed(template: str, row: Row) -> list[str]:
    """A list, or the words of a cell."""
    found = value(names(template)[0], row)
    return found.split() if isinstance(found, str) else items(template, row)
