"""How many processes train a small model fastest on the cores of one machine: found by a few steps of both."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from foreword.assembly.build import check_tokenizer
from foreword.assembly.recipe import Recipe
from foreword.basics.cores import cores
from foreword.basics.messages import Fault, duration, thousands
from foreword.basics.progress import say, silence
from foreword.batches.mixture import MixtureSource, open_data
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.runs.train import text_run
from foreword.training.hardware import Hardware
from foreword.training.memory import processes_that_fit
from foreword.training.processes import call_on_ranks, join

TIMED = 6  # steps for each number of processes
FEW = 200  # steps of a run that is not worth timing
SPENT = 0.05  # of the run, at most, that timing may take
REPAYS = 120.0  # seconds of training, below which starting other processes and timing them does not pay
GAIN = 1.05  # times as fast, at least, as all threads in one process


def fastest_processes(recipe: Recipe, data: Path | Sequence[MixtureSource], run: RunFolder, hardware: Hardware) -> int:
    """As many as there are cores, or one. A run that was begun goes on with as many as it had."""
    spec, many = recipe.training, cores()
    if run.exists():
        return int(run.passport().get("processes", 1))
    if hardware.device != "cpu" or many == 1 or not spec.accumulates or spec.batch_size % many:
        return 1
    alone = replace(hardware, prefetch=False, compile="off")
    try:
        run.check_free()
        store = open_data(data, "train")
        check_tokenizer(recipe, store.tokenizer, str(store.folder))
        loop = text_run(recipe, store, None, run, alone)
        if seconds_of(loop, 0.0) < REPAYS or processes_that_fit(loop.model.parameter_count()) < many:
            return 1
        together = tokens_a_second(loop, many)
        left = seconds_of(loop, together)
        if left < REPAYS or 2 * TIMED * step_tokens(loop) / together > SPENT * left:
            return 1
        apart = min(call_on_ranks(many, _pace, recipe, data, run, alone))
    except Fault:  # the run itself will say so
        return 1
    chosen = many if apart > GAIN * together else 1
    say(
        f"one process with {many} threads reads {thousands(together)} tokens a second, {many} processes with a thread each "
        f"{thousands(apart)}: {chosen} process{'es' * (chosen > 1)} for about {duration(left)} (--processes)"
    )
    return chosen


def step_tokens(loop: RunLoop) -> int:
    """That a step reads, about."""
    return loop.recipe.training.batch_size * (loop.recipe.batches.length or 1)


def seconds_of(loop: RunLoop, pace: float) -> float:
    """How long a run will take at so many tokens a second, about; before that is known (0), whether it may take long."""
    budget, stream = loop.trainer.budget, loop.trainer.stream
    if budget.unit == "seconds":
        return budget.amount
    in_steps = {"steps": 1.0, "tokens": 1.0 / step_tokens(loop), "epochs": 1.0 / max(stream.epochs(1), 1e-12)}
    steps = budget.amount * in_steps[budget.unit]
    if not pace:
        return math.inf if steps > FEW else 0.0
    return steps * step_tokens(loop) / pace


def tokens_a_second(loop: RunLoop, threads: int) -> float:
    """Of a few steps with so many threads: the best, since whatever else the machine does only slows them."""
    before, best = torch.get_num_threads(), math.inf
    try:
        torch.set_num_threads(threads)
        for step in range(TIMED + 1):
            batch = loop.trainer.stream.batch(step)
            began = time.perf_counter()
            read = loop.learner.step(batch, step, 0.0).tokens
            best = min(best, (time.perf_counter() - began) / read) if step else best
        return 1.0 / best
    finally:
        torch.set_num_threads(before)


def _pace(recipe: Recipe, data: Path | Sequence[MixtureSource], run: RunFolder, hardware: Hardware) -> float:
    """On one of several processes: the pace of all of them together."""
    silence()
    loop = text_run(recipe, open_data(data, "train"), None, run, replace(hardware, ranks=join()))
    return tokens_a_second(loop, 1)
