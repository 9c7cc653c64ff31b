"""TextTasks: batches of several tasks made from one text, which join one after another while the earlier go on (ERNIE 2.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import SerializeAsAny

from foreword.basics.messages import Fault
from foreword.basics.numbers import Whole
from foreword.basics.registry import Registry
from foreword.basics.seeds import Permutation, number_of
from foreword.batches import CUTS
from foreword.batches.by_task import TaskRow
from foreword.batches.cuts import Cut, Cutter, RowSize
from foreword.batches.row import Row
from foreword.tokens.store import TokenStore


class TextTasks(Cut):
    """`steps[stage][task]`: how many batches of a task a stage has. A stage may leave out the tasks that join later.

    Continual: every task has some in every stage from its own on. Sequential training, or all at once, are other numbers.
    """

    kind: Literal["text_tasks"] = "text_tasks"
    chosen: ClassVar[Mapping[str, Registry]] = {"tasks": CUTS}
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 2
    whole_batches: ClassVar[bool] = True
    names: list[str]
    tasks: list[SerializeAsAny[Cut]]
    steps: list[list[Whole]]

    def faults(self) -> list[tuple[str, str]]:
        found = [(f"tasks.{i}.{name}", what) for i, task in enumerate(self.tasks) for name, what in task.faults()]
        number = len(self.tasks)
        if len(set(self.names)) != number:
            found.append(("names", f"{number} tasks need {number} different names (it says {self.names})."))
        if any(len(stage) > number or min(stage, default=0) < 0 or not sum(stage) for stage in self.steps):
            found.append(("steps", f"a stage has at least one step and a number for at most {number} tasks."))
        elif [name for name, count in zip(self.names, total(self.steps, number)) if not count]:
            found.append(("steps", "every task needs steps in some stage."))
        return found

    def sized(self, length: int, size: RowSize, carried: tuple[str, ...] = ()) -> Self:
        made = super().sized(length, size, carried)
        made.__dict__["tasks"] = [task.sized(length, size, carried) for task in self.tasks]
        return made

    def over(self, store: TokenStore, batch_size: int, seed: int) -> TextTaskCutter:
        cutters: dict[str, Cutter] = {}
        for name, task in zip(self.names, self.tasks):
            try:
                cutters[name] = task.over(store, batch_size, number_of("text task", seed, name))
            except Fault:
                if store.split == "train" or (name == self.names[-1] and not cutters):
                    raise  # held-out text that is too little for a task is asked the others
        # held-out text is asked all tasks, whatever the stage
        steps = self.steps if store.split == "train" else [[1] * len(cutters)]
        return TextTaskCutter(cutters, steps, batch_size, seed, store)


def total(steps: Sequence[Sequence[int]], number: int) -> list[int]:
    return [sum(stage[task] for stage in steps if task < len(stage)) for task in range(number)]


class TextTaskCutter:
    """A batch is of one task. Within a stage the batches of its tasks come in random order; after the last it comes again."""

    def __init__(
        self,
        cutters: Mapping[str, Cutter],
        steps: Sequence[Sequence[int]],
        batch_size: int,
        seed: int,
        store: TokenStore | None = None,
    ):
        self.cutters, self.steps, self.batch_size, self.seed = dict(cutters), steps, batch_size, seed
        self.store = store
        self.names = list(cutters)
        self.ends = np.cumsum([sum(stage) for stage in steps]).tolist()
        self.epoch = max(cutter.epoch for cutter in cutters.values())
        self.order = lru_cache(maxsize=4)(lambda stage: Permutation(sum(self._stage(stage)), seed, 7, stage))

    def batch(self, step: int) -> tuple[str, int]:
        """(task, which of its batches) of a step."""
        stage = int(np.searchsorted(self.ends, step, side="right"))
        begin = self.ends[stage - 1] if stage else 0
        if stage == len(self.ends):
            more = (step - begin) // sum(self.steps[-1])
            stage, begin = stage + more, begin + more * sum(self.steps[-1])
        ends = np.cumsum(self._stage(stage))
        drawn = self.order(stage)[step - begin]
        task = int(np.searchsorted(ends, drawn, side="right"))
        return self.names[task], self._before(stage, task) + drawn - int(ends[task] - self._stage(stage)[task])

    def by_task(self) -> dict[str, Cutter]:
        """Each task alone."""
        return {name: OneTask(name, cutter) for name, cutter in self.cutters.items()}

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        name, number = self.batch(step)
        return [of_task(row, name) for row in self.cutters[name].rows(number, first, stop)]

    def _stage(self, stage: int) -> Sequence[int]:
        return self.steps[min(stage, len(self.steps) - 1)]

    def _before(self, stage: int, task: int) -> int:
        """Batches of a task in the stages before."""
        each = [self._stage(one) for one in range(min(stage, len(self.steps)))]
        again = max(0, stage - len(self.steps)) * self._stage(stage)[task]
        return sum(one[task] for one in each if task < len(one)) + again


class OneTask:
    def __init__(self, name: str, cutter: Cutter):
        self.name, self.cutter, self.epoch = name, cutter, cutter.epoch

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [of_task(row, self.name) for row in self.cutter.rows(step, first, stop)]


def of_task(row: Row, name: str) -> TaskRow:
    return TaskRow(**{field.name: getattr(row, field.name) for field in fields(Row)}, task=name)
