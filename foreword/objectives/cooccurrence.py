"""Cooccurrence: count which words stand near each other."""

from __future__ import annotations

from typing import ClassVar, Literal

from foreword.objectives.base import Objective
from foreword.vectors.cooccurrence import CooccurrenceWindow
from foreword.vectors.pmi import PmiTable


class Cooccurrence(Objective, CooccurrenceWindow):
    """Pairs of words within a window are counted."""

    kind: Literal["cooccurrence"] = "cooccurrence"
    networks: ClassVar[tuple[str, ...]] = ("pmi",)

    def prepare(self, table: PmiTable) -> None:
        table.count_by(self)
