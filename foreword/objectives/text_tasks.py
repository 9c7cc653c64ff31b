"""TextTasks: several tasks made from one text, each with its heads; a row tells the network which it is of (ERNIE 2.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny

from foreword.basics.registry import Registry
from foreword.batches.row import Row
from foreword.networks.base import Model, Output
from foreword.objectives import KINDS
from foreword.objectives.base import Batch, Charge, Objective
from foreword.objectives.multiple import MultipleObjectives, name_faults, task_of
from foreword.tokens.tokenizer import Tokenizer


class TextTasks(MultipleObjectives):
    """`names`: those that the cut gives its tasks, in the order of the rows of the network's table of tasks."""

    kind: Literal["text_tasks"] = "text_tasks"
    chosen: ClassVar[Mapping[str, Registry]] = {"tasks": KINDS}
    takes_turns: ClassVar[bool] = True
    names: list[str]
    tasks: list[SerializeAsAny[Objective]]

    @property
    def members(self) -> list[Objective]:
        return self.tasks

    @property
    def writes(self) -> frozenset[str]:
        return super().writes | {"tasks"}

    def faults(self) -> list[tuple[str, str]]:
        return self.member_faults("tasks") + name_faults(self.names, self.tasks)

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        number = self.names.index(task_of(rows))
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
