"""ByTask: several tasks on one trunk, with one head each; a batch is of one task (Liu et al. 2019, MT-DNN, algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from pydantic import SerializeAsAny
from torch import nn

from foreword.basics.registry import Table
from foreword.batches.by_task import TaskRow
from foreword.batches.row import Row
from foreword.networks.base import Model, Network, Output
from foreword.objectives import LABELLED
from foreword.objectives.base import Batch, Charge, MakeTokenHead, Objective
from foreword.objectives.examples import ExampleBatch, FromExamples
from foreword.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class TaskBatch(ExampleBatch):
    task: str

    @property
    def guesses(self) -> dict[str, int]:
        return {self.task: sum(super().guesses.values())}


class ByTask(Objective):
    """`names`: one for each task. Only the trunk and the head of a batch's own task learn from it.

    A recipe leaves names and tasks out: they are given when it is trained.
    """

    kind: Literal["by_task"] = "by_task"
    labelled: ClassVar[bool] = True
    chosen: ClassVar[Mapping[str, Table]] = {"tasks": LABELLED}
    names: list[str] = []
    tasks: list[SerializeAsAny[Objective]] = []
    pairs: Literal["stepwise", "classify"] = "stepwise"        # the head for classes of pairs: in steps, or one layer
    dropouts: dict[str, float] = {}                            # before the last layer of a head, by the name of its task

    @property
    def writes(self) -> frozenset[str]:       # type: ignore[override]
        return frozenset().union(*(task.writes for task in self.tasks))

    @property
    def specials(self) -> tuple[str, ...]:    # type: ignore[override]
        return tuple(dict.fromkeys(name for task in self.tasks for name in task.specials))

    def faults(self) -> list[tuple[str, str]]:
        found = [(f"tasks.{i}.{name}", what) for i, task in enumerate(self.tasks) for name, what in task.faults()]
        found += [(f"tasks.{i}", "it has no head of its own, and cannot be a task.") for i, task in enumerate(self.tasks)
                  if not isinstance(task, FromExamples)]
        if len(set(self.names)) != len(self.tasks):
            found.append(("names", f"{len(self.tasks)} tasks need {len(self.tasks)} different names (it says {self.names})."))
        if wrong := [name for name in self.names if not name or "." in name]:
            found.append(("names", f"a name must have a letter and no full stop (it says {wrong})."))
        return found

    def of(self, name: str) -> FromExamples:
        task = self.tasks[self.names.index(name)]
        assert isinstance(task, FromExamples)
        return task

    def alone(self, model: Model, name: str) -> Model:
        """The trunk and one head, as the objective of this task alone knows them."""
        return Model(model.network, {self.of(name).name: model.heads[head_of(name)]})

    def abilities(self) -> dict[str, frozenset[str]]:
        return {head_of(name): frozenset({"predict"}) for name in self.names}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {head_of(name): self.of(name).head(network.width) for name in self.names}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> TaskBatch:
        names = {row.task for row in rows if isinstance(row, TaskRow)}
        if len(names) != 1:
            raise ValueError(f"a batch is of one task, not of {len(names)}")
        made = self.of(name := names.pop()).collate(rows, tokenizer)
        known: dict[str, Any] = {field.name: getattr(made, field.name) for field in fields(made)}
        return TaskBatch(**known, task=name)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, TaskBatch)
        task = self.of(batch.task)
        return {batch.task: task.charges(self.alone(model, batch.task), output, batch)[task.name]}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        assert isinstance(batch, TaskBatch)
        return f"{batch.task}: {self.of(batch.task).show(batch, row, tokenizer)}"


def head_of(name: str) -> str:
    """The name of a task's head: one that a module has no attribute of, whatever the task is called."""
    return f"task-{name}"
