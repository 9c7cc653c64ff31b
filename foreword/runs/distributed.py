"""Training on several processes, planned: what each of them holds, sends and takes time for, with DDP and with FSDP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.runs.needs import Needs
from foreword.training.hardware import PRECISIONS, SHORT, Hardware
from foreword.training.memory import BACKWARD, rows_that_fit

PROGRAM = 340 * 10**6  # bytes of a training process beside its tensors, which is mostly libraries: measured on a CPU
REACHED = 0.5  # of a device's peak: what Meta reports of FSDP at 175B on A100s (Belevich et al. 2022), about
COPIES = 6  # of the matrices that Muon takes together, while it works on them
MANY = 2**20  # more processes than this are not looked for


@dataclass(frozen=True)
class Devices:
    """As many devices as processes. What is None is as it is on this machine, or not known (interconnect)."""

    processes: int = 1
    memory: float | None = None  # bytes
    speed: float | None = None  # floating-point operations a second
    interconnect: float | None = None  # bytes a second that a device sends, and receives at the same time

    @property
    def elsewhere(self) -> bool:
        return self.memory is not None or self.speed is not None


def with_fused_attention(recipe: Recipe) -> Recipe:
    """As devices elsewhere compute it: for attention with dropout they keep a seed, where a CPU may keep all its weights."""
    network: Any = recipe.network
    dropout: Any = getattr(network, "dropout", None)
    if getattr(dropout, "attention", 0.0) == 0.0:
        return recipe
    fused = network.model_copy(update={"dropout": dropout.model_copy(update={"attention": 0.0})})
    return recipe.model_copy(update={"network": fused})


def hardware_elsewhere(precision: str) -> Hardware:
    """How devices that are not here are used. Nothing is computed on it, so that any precision will do."""
    precision = SHORT.get(precision, precision)
    if precision not in (*PRECISIONS, "auto"):
        return Hardware.choose("cpu", precision)  # which says what there is
    return Hardware("cpu", "bfloat16" if precision == "auto" else precision)


@dataclass(frozen=True)
class ProcessShare:
    """What one of several processes holds, in bytes, and what it sends."""

    weights: int
    gradients: int
    optimizer: int
    passing: int  # whole weights and gradients that exist for a moment of a pass, at most
    stepping: int  # held during the optimizer's step, at most
    logits: int
    sent_each_pass: float
    sent_each_step: float
    buckets: bool = False  # gradients have their place throughout, not only from their pass to the optimizer's step

    @property
    def held(self) -> int:
        return PROGRAM + self.weights + self.gradients + self.optimizer

    @property
    def before_rows(self) -> int:
        """At the fullest moment of a pass, before the first row is counted."""
        return self.held + self.passing + self.logits

    def fits(self, memory: float, row: int) -> int:
        """Rows in one pass."""
        enough = self.held + self.stepping <= memory
        return rows_that_fit(int(memory), self.before_rows, row) if enough else 0

    def peak(self, rows: int, row: int, passes: int = 1) -> int:
        """At the fullest moment of a step, in a pass or in the optimizer's step: what a process's peak RSS is compared with.

        In the first of some passes gradients come as activations go; `fits`, like the learner, counts on having both.
        """
        before = self.gradients if self.buckets or passes > 1 else 0
        passing = self.passing + max(before + self.logits + int(BACKWARD * rows * row), self.gradients)
        return self.held - self.gradients + max(passing, self.gradients + self.stepping)

    def sent(self, passes: int) -> float:
        return passes * self.sent_each_pass + self.sent_each_step


def replicated(needs: Needs, processes: int) -> ProcessShare:
    """DDP: everything on every process; gradients are added up once a step, each process sending 2 (N - 1) / N of them.

    They lie in the buckets that are sent. The largest, that of the tokens' table, is made on the way forward already.
    """
    return ProcessShare(
        needs.weights,
        needs.gradients,
        needs.optimizer,
        needs.layout.largest,
        COPIES * max(needs.layout.stepping, default=0),
        needs.beside,
        0.0,
        2 * (processes - 1) / processes * needs.gradients,
        processes > 1,
    )


def sharded(needs: Needs, processes: int) -> ProcessShare:
    """FSDP2, `fully_shard` on every block and on the whole: a share of everything on every process.

    A block at work is whole, and so are the one fetched ahead of it, its gradient, and the copy of that which is sent. What is
    outside the blocks is whole from the first to the last moment of a pass, and so is its gradient. Each pass gathers blocks
    on the way there and on the way back, the rest once, and scatters all gradients.
    """
    layout, others = needs.layout, (processes - 1) / processes
    share = layout.shard(processes)
    return ProcessShare(
        share,
        share,
        math.ceil(needs.optimizer * share / needs.weights),
        4 * layout.block + 2 * layout.outside,
        COPIES * max(layout.stepping, default=0),
        needs.beside,
        others * (2 * needs.weights - layout.outside + needs.gradients),
        others * sum(layout.stepping),
    )


def distributed(
    needs: Needs, devices: Devices, batch_size: int, recompute: bool, memory: float, pace: float | None
) -> JsonObject:
    """What each way of sharing needs. `memory`: bytes of a device; `pace`: tokens a second of one, where it was timed."""
    count = devices.processes
    if batch_size % count:
        raise Fault(
            f"training.batch_size {batch_size} cannot be shared by {count} processes.",
            f"Give a multiple of {count}:  --set training.batch_size={math.ceil(batch_size / count) * count}",
        )
    strategies = {"alone": replicated} if count == 1 else {"ddp": replicated, "fsdp": sharded}
    return {
        "processes": count,
        "memory": memory,
        "speed": devices.speed,
        "interconnect": devices.interconnect,
        "rows": batch_size // count,
        "ways": {
            name: _strategy_report(needs, strategy(needs, count), devices, batch_size // count, recompute, memory, pace)
            | {"processes_that_fit": enough(needs, batch_size, memory) if name == "fsdp" else None}
            for name, strategy in strategies.items()
        },
    }


def _strategy_report(
    needs: Needs, share: ProcessShare, devices: Devices, rows: int, recompute: bool, memory: float, pace: float | None
) -> JsonObject:
    fit = {False: share.fits(memory, needs.row), True: share.fits(memory, needs.row_recomputed)}
    again = recompute or not fit[False]  # as the recipe says, or because nothing else fits
    row = needs.row_recomputed if again else needs.row
    at_once = max(1, min(rows, fit[again]))
    passes = math.ceil(rows / at_once)
    sent = share.sent(passes)
    work = needs.flops_recomputed if again else needs.flops
    a_second = REACHED * devices.speed / work if devices.speed else pace
    computing = rows * needs.positions / a_second if a_second else None
    sending = sent / devices.interconnect if devices.interconnect else None
    return {
        "memory": {
            "program": PROGRAM,
            "weights": share.weights,
            "gradients": share.gradients,
            "optimizer": share.optimizer,
            "passing": share.passing,
            "stepping": share.stepping,
            "logits": share.logits,
            "activations": int(rows * needs.row * BACKWARD),
            "activations_recomputed": int(rows * needs.row_recomputed * BACKWARD),
            "peak": share.peak(at_once, row, passes),
        },
        "fits": fit[again] > 0,
        "rows_that_fit": fit[False],
        "rows_that_fit_recomputed": fit[True],
        "recompute": again,
        "rows_at_once": at_once,
        "passes": passes,
        "sent_each_step": sent,
        "seconds": {"computing": computing, "sending": sending},
        "step_seconds": [max(computing, sending or 0.0), computing + (sending or 0.0)] if computing else None,
    }


def enough(needs: Needs, batch_size: int, memory: float) -> int | None:
    """The fewest processes that can share a batch and fit one row each with FSDP, recomputing; None: no number of them does."""
    for count in range(1, min(batch_size, MANY) + 1):
        if batch_size % count == 0 and sharded(needs, count).fits(memory, needs.row_recomputed):
            return count
    return None
