"""Online learning: a table of vectors that is updated after every example, on one machine, without gradients of torch's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from foreword.basics.budget import Budget
from foreword.basics.numbers import NotNegative, Positive, Size
from foreword.basics.seeds import number_of
from foreword.batches.row import Row
from foreword.objectives.base import Objective
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.training.learner import StepReport, TrainingSpec
from foreword.vectors.table import VectorTable


@runtime_checkable
class OnlineObjective(Protocol):
    """What it takes to learn example by example."""

    def prepare(self, table: Any) -> Any:
        """What is made once for a table."""

    def learn(
        self, table: Any, made: Any, rows: Sequence[Row], rate: float, seed: int, threads: int
    ) -> tuple[float, int]:
        """(what a sample of the guesses cost in nats, how many those were)"""


class OnlineTraining(TrainingSpec):
    kind: Literal["online"] = "online"
    budget: str = "5epochs"
    least: str = "4Mtok"  # with the default budget, little text is read more often, until so much is read
    most: Size = 30  # times at most: then its words are known by heart
    batch_size: Size = 1  # rows between two looks at the clock
    learning_rate: Positive = 0.025  # falls in a straight line to `floor` of itself
    floor: NotNegative = 1e-4
    threads: Size = 1  # several update the same table at once: quicker, and no two runs are quite the same
    log: Size = 100

    def spending(self, tokens: float) -> Budget:
        """The budget over a text of so many tokens."""
        budget = super().spending(tokens)
        if self.budget != type(self).model_fields["budget"].default:
            return budget
        passes = min(float(self.most), Budget.parse(self.least).amount / max(tokens, 1.0))
        return budget if passes <= budget.amount else Budget.parse(f"{round(passes, 2):g}epochs")

    def learner(
        self, model: VectorTable, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> OnlineLearner:
        if not isinstance(objective, OnlineObjective):
            raise TypeError(f"{type(objective).__name__} does not learn example by example")
        return OnlineLearner(self, model, objective)


class OnlineLearner:
    def __init__(self, spec: OnlineTraining, model: VectorTable, objective: OnlineObjective):
        self.spec, self.model, self.objective = spec, model, objective
        self.made = objective.prepare(model)
        model.begin(spec.seed)

    def collate(self, rows: list[Row]) -> list[Row]:
        return rows

    def step(self, batch: list[Row], step: int, spent: float, tokens: int = 0) -> StepReport:
        rate = self.spec.learning_rate * max(1.0 - spent, self.spec.floor)
        seed = number_of("step", self.spec.seed, step)  # all chance in step n comes from (seed, n)
        nats, guesses = self.objective.learn(self.model, self.made, batch, rate, seed, self.spec.threads)
        return StepReport(sum(len(row.ids) for row in batch), {"loss": nats / max(guesses, 1), "learning_rate": rate})

    def finish(self, held_out: Iterable[list[Row]]) -> None:
        pass

    def measure(self, batches: Iterable[list[Row]]) -> dict[str, float]:
        return {}  # vectors have no bits per byte; what they are good for, tasks tell

    def save(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(array.copy()) for name, array in self.model.state().items()}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        self.model.restore({name: tensor.numpy() for name, tensor in saved.items()})
