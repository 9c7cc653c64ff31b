"""Online learning: a table of vectors that is updated after every example, on one machine, without torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from foreword.basics.seeds import chance, number_of
from foreword.batches.row import Row
from foreword.objectives.base import Objective
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.training.learner import StepReport, TrainingSpec
from foreword.vectors.table import VectorTable


@runtime_checkable
class OnlineObjective(Protocol):
    """What it takes to learn example by example."""

    def noise(self, table: VectorTable) -> np.ndarray: ...

    def learn(
        self, table: VectorTable, ids: np.ndarray, rate: float, noise: np.ndarray, draw: np.random.Generator
    ) -> tuple[float, int]: ...


class OnlineTraining(TrainingSpec):
    kind: Literal["online"] = "online"
    budget: str = "5epochs"
    batch_size: int = 16  # texts between two looks at the clock
    learning_rate: float = 0.025  # falls in a straight line to `floor` of itself
    floor: float = 1e-4

    def learner(
        self, model: VectorTable, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> OnlineLearner:
        if not isinstance(objective, OnlineObjective):
            raise TypeError(f"{type(objective).__name__} does not learn example by example")
        return OnlineLearner(self, model, objective)


class OnlineLearner:
    def __init__(self, spec: OnlineTraining, model: VectorTable, objective: OnlineObjective):
        self.spec, self.model, self.objective = spec, model, objective
        self.noise = objective.noise(model)
        model.begin(spec.seed)

    def collate(self, rows: list[Row]) -> list[Row]:
        return rows

    def step(self, batch: list[Row], step: int, spent: float, tokens: int = 0) -> StepReport:
        rate = self.spec.learning_rate * max(1.0 - spent, self.spec.floor)
        draw = chance(number_of("step", self.spec.seed, step))  # all chance in step n comes from (seed, n)
        found = [self.objective.learn(self.model, row.ids, rate, self.noise, draw) for row in batch]
        nats, guesses = (sum(numbers) for numbers in zip(*found))
        return StepReport(sum(len(row.ids) for row in batch), {"loss": nats / max(guesses, 1), "learning_rate": rate})

    def finish(self, held_out: Iterable[list[Row]]) -> None:
        pass

    def measure(self, batches: Iterable[list[Row]]) -> dict[str, float]:
        return {}  # vectors have no bits per byte; what they are good for, tasks tell

    def save(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(array.copy()) for name, array in self.model.arrays().items()}

    def restore(self, saved: dict[str, Tensor]) -> None:
        self.model.restore({name: tensor.numpy() for name, tensor in saved.items()})
