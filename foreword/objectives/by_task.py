"""ByTask: several tasks on one trunk, with heads of their own; a batch is of one task (Liu et al. 2019, MT-DNN, algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import SerializeAsAny
from torch import nn

from foreword.basics.numbers import Positive, Size
from foreword.basics.registry import Registry
from foreword.batches.row import Row
from foreword.networks.base import Model, Network, State
from foreword.objectives import EVERY
from foreword.objectives.base import Batch, Loss, MakeTokenHead, Objective, by_name
from foreword.objectives.examples import FromExamples
from foreword.objectives.multiple import MultipleObjectives, name_faults, task_of
from foreword.tokens.tokenizer import Tokenizer


class ByTask(MultipleObjectives):
    """`names`: one for each task, which may be of labelled examples or of text. Only the trunk and the heads of a batch's own
    task learn from it.

    A recipe leaves names and tasks out: they are given when it is trained.
    """

    kind: Literal["by_task"] = "by_task"
    labelled: ClassVar[bool] = True
    chosen: ClassVar[Mapping[str, Registry]] = {"tasks": EVERY}
    takes_turns: ClassVar[bool] = True
    names: list[str] = []
    tasks: list[SerializeAsAny[Objective]] = []
    pairs: Literal["stepwise", "classify"] = "stepwise"  # the head for classes of pairs: in steps, or one layer
    limit: Size | None = None  # examples that a task counts for at most in the mixture; all by default
    temperature: Positive = 1.0  # of the mixture: the higher, the more equal the shares of the tasks
    dropouts: dict[str, float] = {}  # before the last layer of a head, by the name of its task

    @property
    def members(self) -> list[Objective]:
        return self.tasks

    def faults(self) -> list[tuple[str, str]]:
        found = self.member_faults("tasks") + name_faults(self.names, self.tasks)
        if self.temperature <= 0 or (self.limit or 1) < 1:
            found.append(("temperature", "temperature must be above 0, and limit at least 1."))
        if wrong := [name for name in self.names if not name or "." in name]:
            found.append(("names", f"a name must have a letter and no full stop (it says {wrong})."))
        return found

    def task(self, name: str) -> Objective:
        return self.tasks[self.names.index(name)]

    def of(self, name: str) -> FromExamples:
        """A task of labelled examples."""
        task = self.task(name)
        assert isinstance(task, FromExamples)
        return task

    def alone(self, model: Model, name: str) -> Model:
        """The trunk and the heads of one task, as its objective knows them."""
        task, own = self.task(name), self.head(name)
        if isinstance(task, FromExamples):
            return Model(model.network, {task.name: model.heads[own]})
        return Model(
            model.network,
            {key.removeprefix(f"{own}:"): head for key, head in model.heads.items() if key.startswith(f"{own}:")},
        )

    def head(self, name: str) -> str:
        """What the head of a task is called; tasks that answer in text share that of the tokens."""
        task = self.task(name)
        return task.name if isinstance(task, FromExamples) and task.shared else head_of(name)

    def abilities(self) -> dict[str, frozenset[str]]:
        return {
            self.head(name): frozenset({"predict"}) for name in self.names if isinstance(self.task(name), FromExamples)
        }

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        found: dict[str, nn.Module] = {}
        for name, task in zip(self.names, self.tasks):
            made, own = task.heads(network, token_head), self.head(name)
            if own in found:
                continue
            found |= {own if isinstance(task, FromExamples) else f"{own}:{key}": head for key, head in made.items()}
        return found

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        name = task_of(rows)
        return replace(self.task(name).collate(rows, tokenizer), task=name)

    def loss(self, model: Model, batch: Batch, state: State = None) -> Loss:
        loss = self.task(batch.task).loss(self.alone(model, batch.task), batch, state)
        return replace(loss, charges=by_name(batch.task, loss.charges))

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        return f"{batch.task}: {self.task(batch.task).show(batch, row, tokenizer)}"


def head_of(name: str) -> str:
    """The name of a task's head: one that a module has no attribute of, whatever the task is called."""
    return f"task-{name}"
