"""StagedMasking: units that grow as training goes on: tokens, phrases, entities (Sun et al. 2019, ERNIE, section 3.2)."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Literal

from foreword.basics.numbers import Share, Whole
from foreword.batches.row import Row
from foreword.objectives.masked import Masked
from foreword.objectives.units import Unit


class StagedMasking(Masked):
    """Stage i hides `stages[i]` as a whole in the next `rows[i]` rows of the run; the last stage has no end.

    Which stage a row is of depends on its number alone: resumed, or on several processes, it is masked the same.
    """

    kind: Literal["staged_masking"] = "staged_masking"  # type: ignore[assignment]
    stages: list[Unit] = ["token", "phrase", "entity"]
    rows: list[Whole]
    earlier: Share = 0.0  # share of the rows of a stage that are masked as in one of the stages before it

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        if len(self.rows) != len(self.stages) - 1:
            found.append(
                (
                    "rows",
                    f"{len(self.stages)} stages need {len(self.stages) - 1} numbers of rows, not {len(self.rows)}.",
                )
            )
        if not 0 <= self.earlier <= 1:
            found.append(("earlier", f"earlier is a share between 0 and 1 (it says {self.earlier})."))
        return found

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(unit for unit in self.stages if unit != "token"))

    def unit_of(self, row: Row) -> Unit:
        stage = bisect_right(list(accumulate(self.rows)), row.number)
        if stage and self.earlier and row.chance.random() < self.earlier:
            stage = int(row.chance.integers(stage))
        return self.stages[stage]
