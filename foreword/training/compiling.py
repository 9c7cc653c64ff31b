"""torch.compile where it pays: it makes steps some percent faster and costs half a minute, so a short run goes without."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from torch import nn

from foreword.basics.messages import duration
from foreword.basics.progress import say
from foreword.parts.block import layers
from foreword.training.hardware import Compile

GAIN = 0.08          # of each step, about what compiling saves on two cores
COST = 30.0          # seconds of compiling, about
TRIAL = 8            # steps timed before deciding, and again after compiling
WARMING = 2          # first steps, whose time says nothing


class Compiling:
    """Watches the pace of a run, and compiles the blocks when what is left of the budget repays it."""

    def __init__(self, model: nn.Module, wanted: Compile, clock: Callable[[], float] = time.perf_counter):
        self.blocks = layers(model)
        self.wanted, self.clock = wanted, clock
        self.open = bool(self.blocks) and wanted != "off"      # still to be decided
        self.compiled = False
        self.times: list[float] = []
        self.plain: float | None = None       # seconds of a step before
        self.spent = 0.0
        if self.open and wanted == "on":
            self._compile()

    def before(self, spent: float) -> None:
        """At the start of a step. `spent` is how much of the budget was used before it."""
        if not self.open:
            return
        if not self.times:
            self.spent = spent
        if len(self.times) == TRIAL + WARMING:
            (self._judge if self.compiled else self._decide)(spent)
        self.began = self.clock()

    def after(self) -> None:
        if self.open:
            self.times.append(self.clock() - self.began)

    def _decide(self, spent: float) -> None:
        pace = median(self.times[WARMING:])
        each = max(spent - self.spent, 1e-12) / len(self.times)      # of the budget, in one step
        left = pace * (1.0 - spent) / each
        if GAIN * left < COST:
            self.open = False
            say(f"not compiled: what is left, about {duration(left)}, would not repay it (--compile on does it all the same)")
            return
        say(f"compiling: about {duration(left)} are left, which repays it")
        self.plain, self.times = pace, []
        self._compile()

    def _judge(self, spent: float) -> None:
        self.open = False
        pace = median(self.times[WARMING:])
        took = max(self.times) - pace
        if self.plain is None:
            say(f"compiled in {duration(took)}")
        elif pace < self.plain:
            say(f"compiled in {duration(took)}: a step is {self.plain / pace:.2f} times as fast")
        else:
            for block in self.blocks:
                block._compiled_call_impl = None
            say(f"compiled in {duration(took)}, and no faster ({self.plain / pace:.2f}): going on without")

    def _compile(self) -> None:
        self.compiled = True
        for block in self.blocks:        # alike, so that one compilation serves them all
            block.compile()
