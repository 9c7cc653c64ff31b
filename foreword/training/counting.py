"""Learning by counting: the text is read once, and what was counted is turned into probabilities at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from foreword.basics.budget import byte_size
from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.batches.row import Row
from foreword.objectives.base import Objective
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.training.learner import StepReport, TrainingSpec


class Countable(Protocol):
    """What it takes to learn by counting: a count model, a table of co-occurrences."""

    def bounded(self, memory: int, cluster: str = "") -> None:
        """Count in so many bytes of memory, about; the rest lies on disk meanwhile."""

    def count(self, ids: np.ndarray) -> int:
        """Add one run of the text; how many tokens it had."""

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """Turn counts into what is asked for."""

    def counted(self) -> dict[str, np.ndarray]:
        """All that was counted so far."""

    def recount(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what `counted` gave."""


class CountTraining(TrainingSpec):
    kind: Literal["counting"] = "counting"
    budget: str = "1epochs"
    log: Size = 100
    valid_batches: Size = 4  # runs of held-out text on which weights are fitted
    memory: str = "1GB"  # that counting may take, about; what does not fit lies on disk meanwhile (TMPDIR)
    cluster: str = ""  # a Ray cluster that counts the shards of a long text: auto, or its address

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        try:
            byte_size(self.memory)
        except Fault as fault:
            found.append(("memory", fault.what))
        return found

    def learner(
        self, model: Countable, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> CountLearner:
        model.bounded(byte_size(self.memory), self.cluster)
        if prepare := getattr(objective, "prepare", None):  # it says what is counted
            prepare(model)
        return CountLearner(model)


class CountLearner:
    def __init__(self, model: Countable):
        self.model = model

    def collate(self, rows: list[Row]) -> list[Row]:
        return rows

    def step(self, batch: list[Row], step: int, spent: float, tokens: int = 0) -> StepReport:
        counted = sum(self.model.count(row.ids) for row in batch)
        return StepReport(counted, {"counted": float(counted)})

    def finish(self, held_out: Iterable[list[Row]]) -> None:
        runs = [row.ids for rows in held_out for row in rows]
        self.model.estimate(np.concatenate(runs) if runs else None)

    def measure(self, batches: Iterable[list[Row]]) -> dict[str, float]:
        return {}  # it has nothing to say before everything is counted

    def save(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(array) for name, array in self.model.counted().items()}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        self.model.recount({name: tensor.numpy() for name, tensor in saved.items()})
