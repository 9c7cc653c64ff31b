"""torch.compile where it pays: it fuses what is not a matrix product, and costs some seconds that a run must earn back.

Where the kernels of `foreword.kernels` fuse already (float32 on a CPU), it gained -5 to 3% on five shapes
(benchmarks/RESULTS.md): there it is left to those who ask for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn

from foreword.basics.messages import Fault, duration
from foreword.basics.progress import say
from foreword.kernels import elementwise
from foreword.parts.block import layers
from foreword.training.hardware import Compile
from foreword.training.ranks import Ranks

REACH = 0.65  # the share of its time in matrix products that a compiled step comes to, about
COST = 15.0  # seconds of compiling, about
TRIAL = 8  # steps timed before deciding, and again after compiling
WARMING = 2  # first steps, whose time says nothing


class Compiling:
    """Watches the pace of a run, and compiles the blocks when what is left of the budget repays it."""

    def __init__(
        self,
        model: nn.Module,
        wanted: Compile,
        ranks: Ranks | None = None,
        clock: Callable[[], float] = time.perf_counter,
        peak: Callable[[], float] | None = None,
    ):
        self.blocks = layers(model)
        self.wanted, self.clock, self.ranks = wanted, clock, ranks or Ranks()
        self.peak = peak or (lambda: products_a_second(next(model.parameters()).device))
        self.operations = 6 * sum(p.numel() for p in model.parameters() if p.dim() == 2)  # for one token, at least
        self.tokens = 0
        weight = next(model.parameters())
        asked = wanted == "on" or (wanted == "auto" and not elementwise.fits(weight))
        self.open = bool(self.blocks) and asked and able(weight.device, wanted)  # to be decided
        self.compiled = False
        self.times: list[float] = []
        self.plain: float | None = None  # seconds of a step before
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

    def after(self, tokens: int) -> None:
        if self.open:
            self.times.append(self.clock() - self.began)
            self.tokens = tokens

    def _decide(self, spent: float) -> None:
        pace = median(self.times[WARMING:])
        each = max(spent - self.spent, 1e-12) / len(self.times)  # of the budget, in one step
        left = pace * (1.0 - spent) / each
        busy = self.operations * self.tokens / pace / self.peak()  # the share of a step that matrix products need
        saved = max(0.0, 1.0 - busy / REACH) * left
        if not self.ranks.agree(saved >= COST):
            self.open = False
            say(f"not compiled: matrix products are {busy:.0%} of a step, and {duration(left)} left would not repay it")
            return
        say(f"compiling: matrix products are only {busy:.0%} of a step, and about {duration(left)} are left")
        self.plain, self.times = pace, []
        self._compile()

    def _judge(self, spent: float) -> None:
        self.open = False
        pace = median(self.times[WARMING:])
        took = max(self.times) - pace
        if self.plain is None:
            say(f"compiled in {duration(took)}")
        elif self.ranks.agree(pace < self.plain):
            say(f"compiled in {duration(took)}: a step is {self.plain / pace:.2f} times as fast")
        else:
            for block in self.blocks:
                block._compiled_call_impl = None
            say(f"compiled in {duration(took)}, and no faster ({self.plain / pace:.2f}): going on without")

    def _compile(self) -> None:
        self.compiled = True
        for block in self.blocks:  # alike, so that one compilation serves them all
            block.compile()


def able(device: torch.device, wanted: Compile) -> bool:
    """Whether torch.compile finds what it needs. A run that did not ask for it goes on without, and says so."""
    from torch._inductor.cpp_builder import get_cpp_compiler

    try:
        if device.type == "cpu":
            get_cpp_compiler()
        return True
    except RuntimeError as error:
        if wanted == "on":
            raise Fault(
                "torch.compile needs a C++ compiler, and none was found.",
                "Install g++ or clang++ (CXX=... names another), or leave --compile on away.",
            ) from error
        say("not compiled: torch.compile needs a C++ compiler, and none was found")
        return False


def products_a_second(device: torch.device, size: int = 1024) -> float:
    """Floating-point operations a second in a large matrix product, the best of a few."""
    a, found = torch.ones(size, size, device=device), []
    for _ in range(4):
        began = time.perf_counter()
        float((a @ a)[0, 0])  # waits for the device
        found.append(time.perf_counter() - began)
    return 2 * size**3 / min(found)
