"""What every kind of labelled task says: which columns it reads (by templates), what its labels are, and what is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from foreword.basics.spec import Spec
from foreword.tasks.example import Example, Label
from foreword.tasks.prompted.request import Row
from foreword.tasks.template import items, names, render, value, wrong


class WrongRow(ValueError):
    """A row that should be mended: what is wrong with it, and what to do."""

    def __init__(self, what: str, do: str = ""):
        super().__init__(what)
        self.what, self.do = what, do


class LabelledKind(Spec):
    """One kind of labelled task: from a row to an example."""

    kind: str
    metrics: tuple[str, ...] = ()
    id: str = ""                       # the row's own name; else its number
    part_by: str = ""                  # what must stay in one split when splits are cut; else the first text, or what answers
    note: str = ""                     # what should be said about the data
    only: dict[str, str] = {}          # rows that count: those with these values in these fields

    in_words: ClassVar[str] = ""          # the kind in plain words

    def inputs(self) -> dict[str, str]:
        """Setting -> template of what is read."""
        return {}

    def answers(self) -> dict[str, str]:
        """Setting -> template of what is to be found."""
        return {}

    def faults(self) -> list[tuple[str, str]]:
        return [(setting, said) for setting, template in {**self.inputs(), **self.answers()}.items() if (said := wrong(template))]

    def fields(self, labelled: bool = True) -> list[tuple[str, str]]:
        """(setting, field) for every field that a template speaks of."""
        templates = {**self.inputs(), **(self.answers() if labelled else {})}
        return [(setting, name) for setting, template in templates.items() for name in names(template)]

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        """The example of a row. Unusable: it has no right answer and is left out; Wrong: it must be mended."""
        raise TypeError(f"{type(self).__name__} does not say this.")

    def called(self, row: Row, number: int) -> str:
        return render(self.id, row) if self.id else str(number)

    def group(self, example: Example, row: Row) -> str:
        """What keeps examples together when splits are cut."""
        return render(self.part_by, row) if self.part_by else example.texts[0]

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        """What a head must be able to say, from the labels of train."""
        return ()

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        """Labels of a dev or test example that no training example has."""
        return []


def filled(template: str, row: Row) -> str:
    """A text that is not empty, without white space around."""
    if text := render(template, row).strip():
        return text
    raise WrongRow(f"{template} is empty in this row.", "Write a text, or remove the row.")


def number_in(template: str, row: Row) -> float:
    said = render(template, row).strip()
    try:
        number = float(said)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise WrongRow(f"{template} says {said!r}, which is not a number.")
    return number


def listed(template: str, row: Row) -> list[str]:
    """A list, or the words of a cell."""
    found = value(names(template)[0], row)
    return found.split() if isinstance(found, str) else items(template, row)
