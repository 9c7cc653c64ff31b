"""Learning by counting: the text is read once, and what was counted is turned into probabilities at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from foreword.batches.row import Row
from foreword.counts.model import CountModel
from foreword.objectives.base import Objective
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.training.learner import StepReport, TrainingSpec


class CountTraining(TrainingSpec):
    kind: Literal["counting"] = "counting"
    budget: str = "1epochs"
    log: int = 100
    valid_batches: int = 4  # runs of held-out text on which weights are fitted

    def learner(
        self, model: CountModel, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> CountLearner:
        return CountLearner(model)


class CountLearner:
    def __init__(self, model: CountModel):
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
        return {name: torch.from_numpy(np.array(array)) for name, array in self.model.counted().items()}

    def restore(self, saved: dict[str, Tensor]) -> None:
        self.model.recount({name: tensor.numpy() for name, tensor in saved.items()})
