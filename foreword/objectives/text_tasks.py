"""TextTasks: several tasks made from one text, each with its heads; a row tells the network which it is of (ERNIE 2.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import nn

from foreword.basics.registry import Registry
from foreword.batches.by_task import TaskRow
from foreword.batches.row import Row
from foreword.networks.base import Model, Network, Output
from foreword.objectives import KINDS
from foreword.objectives.base import Batch, Charge, MakeTokenHead, Objective
from foreword.tokens.tokenizer import Tokenizer


class TextTasks(Objective):
    """`names`: those that the cut gives its tasks, in the order of the rows of the network's table of tasks."""

    kind: Literal["text_tasks"] = "text_tasks"
    chosen: ClassVar[Mapping[str, Registry]] = {"tasks": KINDS}
    takes_turns: ClassVar[bool] = True
    names: list[str]
    tasks: list[SerializeAsAny[Objective]]

    @property
    def writes(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"tasks"}).union(*(task.writes for task in self.tasks))

    @property
    def specials(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(dict.fromkeys(name for task in self.tasks for name in task.specials))

    @property
    def marks(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(dict.fromkeys(name for task in self.tasks for name in task.marks))

    def faults(self) -> list[tuple[str, str]]:
        found = [(f"tasks.{i}.{name}", what) for i, task in enumerate(self.tasks) for name, what in task.faults()]
        if len(set(self.names)) != len(self.tasks):
            found.append(
                ("names", f"{len(self.tasks)} tasks need {len(self.tasks)} different names (it says {self.names}).")
            )
        return found

    def abilities(self) -> dict[str, frozenset[str]]:
        return {head: given for task in self.tasks for head, given in task.abilities().items()}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {name: head for task in self.tasks for name, head in task.heads(network, token_head).items()}

    def row_ids(self, positions: int, texts: int) -> int:
        return min(task.row_ids(positions, texts) for task in self.tasks)

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        names = {row.task for row in rows if isinstance(row, TaskRow)}
        if len(names) != 1:
            raise ValueError(f"a batch is of one task, not of {len(names)}")
        number = self.names.index(names.pop())
        batch = self.tasks[number].collate(rows, tokenizer)
        return replace(batch, inputs=replace(batch.inputs, tasks=torch.full((batch.inputs.ids.size(0),), number)))

    def of(self, batch: Batch) -> Objective:
        """The task that a batch is of."""
        tasks = batch.inputs.tasks
        if tasks is None:
            raise ValueError("a batch of a text task says which it is of")
        return self.tasks[int(tasks[0])]

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return self.of(batch).charges(model, output, batch)

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        return self.of(batch).statistics(batch, tokenizer)

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        return self.of(batch).show(batch, row, tokenizer)
