"""The Trainer: step until the budget is spent; log, evaluate and save when they fall due. It knows no model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from foreword.basics.budget import Budget
from foreword.batches.stream import Prefetched, Stream
from foreword.training.learner import Learner, StepReport


@dataclass
class Progress:
    """Where a run stands: all that a checkpoint needs besides what was learned."""

    step: Annotated[int, Field(ge=0)] = 0
    tokens: Annotated[int, Field(ge=0)] = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    best: dict[str, float] = field(default_factory=dict)  # the best evaluation so far, and its step
    pending: list[dict[str, float]] = field(default_factory=list)  # reports since the last record
    noted: Annotated[int, Field(ge=0)] = 0  # records written so far
    halving: dict[str, float] = field(
        default_factory=dict
    )  # of the rate: the last evaluation, how often, whether it is over


@dataclass
class ScheduledAction:
    """Something to do from time to time: after `period` (a share of the budget, or a budget of its own)."""

    period: float | str
    do: Callable[[], None]
    done: int = 0

    def times_due(self, progress: Progress, spent: float, epochs: float) -> int:
        """How many times it has fallen due since the beginning of the run."""
        if self.period.__class__ is float:
            return int(spent / float(self.period) + 1e-9)
        budget = Budget.parse(str(self.period))
        return int(budget.spent(progress.step, progress.tokens, epochs, progress.seconds) + 1e-9)


class Trainer:
    def __init__(
        self,
        learner: Learner,
        stream: Stream | Prefetched,
        budget: Budget,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
        passes: float | None = None,
    ):
        self.learner, self.stream, self.budget, self.clock = learner, stream, budget, clock
        self.passes = passes if budget.unit == "seconds" else None
        self.progress = progress or Progress()
        self.duties: list[ScheduledAction] = []
        self.watch: Callable[[Progress, float, StepReport], None] = lambda progress, spent, report: None
        self.held_out: Callable[[], Iterable[Any]] = tuple
        self.stopping = False

    def spent(self) -> float:
        """How much of the budget is used, or of the passes through the text if that is more, 0 to 1."""
        at, epochs = self.progress, self.stream.epochs(self.progress.step)
        share = self.budget.spent(at.step, at.tokens, epochs, at.seconds)
        return share if self.passes is None else max(share, epochs / self.passes)

    def passes_done(self) -> bool:
        """Whether it ended because the text was read often enough, with time left."""
        return self.passes is not None and self.stream.epochs(self.progress.step) >= self.passes - 1e-9

    def run(self) -> bool:
        """True when the budget was spent, False when asked to stop before."""
        for duty in self.duties:
            duty.done = self._times_due(duty)  # a resumed run does not repeat what was done before
        before, last = self.clock(), self.progress.seconds
        while (spent := self.spent()) < 1.0 - 1e-9:
            if self.stopping:
                return False
            at = self.progress
            report = self.learner.step(self.stream.batch(at.step), at.step, spent, at.tokens)
            self.progress.step += 1
            self.progress.tokens += report.tokens
            self.progress.pending.append(report.values)
            self.progress.seconds = last + self.clock() - before
            self.watch(self.progress, self.spent(), report)
            for duty in self.duties:
                if (times := self._times_due(duty)) > duty.done:
                    duty.done = times
                    duty.do()
        self.learner.finish(self.held_out())
        return True

    def _times_due(self, duty: ScheduledAction) -> int:
        return duty.times_due(self.progress, self.spent(), self.stream.epochs(self.progress.step))

    def record(self) -> dict[str, object]:
        """The mean of what was reported since the last record; what only some steps report is a mean over those."""
        pending, self.progress.pending = self.progress.pending, []
        reported = {name: [values[name] for values in pending if name in values] for each in pending for name in each}
        means = {name: sum(values) / len(values) for name, values in reported.items()}
        return {"step": self.progress.step, "tokens": self.progress.tokens, **means}
