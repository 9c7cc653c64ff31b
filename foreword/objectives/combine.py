"""Together: several objectives charged on one batch and one pass of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import SerializeAsAny

from foreword.basics.registry import Registry
from foreword.batches.row import Row
from foreword.networks.base import Model, Output
from foreword.objectives import EVERY
from foreword.objectives.base import Batch, Charge, Objective
from foreword.objectives.multiple import MultipleObjectives
from foreword.tokens.tokenizer import Tokenizer


class CombinedObjectives(MultipleObjectives):
    """The first objective lays out what the network reads; the others add their own targets and charges."""

    kind: Literal["together"] = "together"
    chosen: ClassVar[Mapping[str, Registry]] = {"parts": EVERY}
    parts: list[SerializeAsAny[Objective]]
    weights: list[float] | None = None  # one for each part; all 1 by default

    @property
    def members(self) -> list[Objective]:
        return self.parts

    @property
    def labelled(self) -> bool:
        return any(part.labelled for part in self.parts)

    def faults(self) -> list[tuple[str, str]]:
        found = self.member_faults("parts")
        if not self.parts:
            found.append(("parts", "together needs at least one objective."))
        if self.weights is not None and len(self.weights) != len(self.parts):
            found.append(
                ("weights", f"{len(self.parts)} parts need {len(self.parts)} weights, not {len(self.weights)}.")
            )
        return found

    @property
    def overlap(self) -> int:
        return max(part.overlap for part in self.parts)

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        first, *others = (part.collate(rows, tokenizer) for part in self.parts)
        return first.beside(others)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        found = {}
        for part, weight in zip(self.parts, self.weights or [1.0] * len(self.parts)):
            for name, charge in part.charges(model, output, batch).items():
                found[name] = replace(charge, weight=charge.weight * weight)
        return found

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        return {name: value for part in self.parts for name, value in part.statistics(batch, tokenizer).items()}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        return "\n".join(part.show(batch, row, tokenizer) for part in reversed(self.parts))
