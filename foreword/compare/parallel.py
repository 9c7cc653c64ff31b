"""Runs of a study in parallel, one to a core: a small model trains hardly faster on several, and its seeds are many."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, redirect_stderr
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch

from foreword.basics.cluster import RayPool
from foreword.basics.cores import cores
from foreword.basics.files import JsonObject
from foreword.basics.messages import Diverged, Fault, Interrupted, RunFailed, thousands
from foreword.basics.processes import end_at_once, process_pool
from foreword.basics.progress import say, ticking
from foreword.basics.shards import outcome
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.runs.process_count import tokens_a_second
from foreword.training.hardware import Hardware
from foreword.training.memory import processes_that_fit

LEAST = 60.0  # seconds of work, below which starting other processes does not pay
GRACE = 20.0  # seconds to save, once whoever started this is gone
DIVERGED, STOPPED = "diverged", "stopped"
Data = TypeVar("Data")  # what all runs of a study are given: examples, or a store
Given = TypeVar("Given", contravariant=True)


class TimedRun(NamedTuple):
    """A run that is timed for a few steps and never written."""

    loop: RunLoop
    tokens: float = math.inf  # that the whole run reads, about


class Job(Protocol[Given]):
    """One run of a study."""

    @property
    def folder(self) -> Path: ...

    def run(self, data: Given, hardware: Hardware) -> RunFolder: ...

    def trial(self, data: Given, hardware: Hardware) -> TimedRun | None: ...  # None: it takes no steps


class JobRunner(Generic[Data]):
    """Does jobs; those given to `start` begin before they are asked for, several in parallel."""

    def __init__(self, data: Data, hardware: Hardware | None, cluster: str = ""):
        self.data, self.hardware, self.cluster = data, hardware or Hardware(), cluster
        self.waiting: dict[Path, Future[tuple[str, Fault | None]]] = {}
        self.pool: ProcessPoolExecutor | None = None
        self.ray: RayPool | None = None
        self.shown = ExitStack()

    def __enter__(self) -> JobRunner[Data]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self, jobs: Iterable[Job[Data]], parallel: int | None = None) -> int:
        """How many run in parallel: as many as asked for, or what is measured to be fastest, or as the cluster has cores."""
        left = [job for job in jobs if not _over(RunFolder(job.folder).passport())]
        if (world := self.hardware.ranks.world) > 1:
            if self.cluster or (parallel or 1) > 1:
                raise Fault(
                    f"each run of this study is trained by all {world} processes, one run after another.",
                    "Leave out --jobs and cluster; or leave out --processes (and torchrun), to have several runs at a time.",
                )
            return 1
        if self.cluster and left:
            self.ray = RayPool(self.cluster, parallel)
            begun = self.ray.begin(RunOfJob(self.data, self.hardware), left)
            self.waiting = {job.folder: one for job, one in zip(left, begun)}
            self._watch(f"{len(left)} runs on Ray", begun)
            return self.ray.number
        parallel = min(parallel or self._fastest(left), len(left))
        if parallel > 1:
            self.stop = get_context("spawn").Event()
            given = self.data, max(1, cores() // parallel), self.stop
            self.pool = process_pool(parallel, _begin, given, _save_and_end)
            self.waiting = {job.folder: self.pool.submit(_run, job, self.hardware) for job in left}
            self._watch(f"{len(left)} runs, {parallel} in parallel", list(self.waiting.values()))
        return parallel

    def _watch(self, title: str, every: Sequence[Future[Any]]) -> None:
        ticker = self.shown.enter_context(ticking(title))

        def update(_: Future[Any]) -> None:
            over = sum(one.done() for one in every)
            ticker.update(over / len(every), f"{over} of {len(every)} runs")

        for one in every:
            one.add_done_callback(update)

    def _fastest(self, jobs: list[Job[Data]]) -> int:
        if len(jobs) < 2 or cores() == 1 or self.hardware.device != "cpu":
            return 1
        quiet = replace(self.hardware, prefetch=False, compile="off")
        trial = next(filter(None, (job.trial(self.data, quiet) for job in jobs)), None)
        if trial is None:
            return 1
        fit = processes_that_fit(trial.loop.model.parameter_count())
        try:
            return fastest(lambda threads: tokens_a_second(trial.loop, threads), fit, len(jobs) * trial.tokens)
        except RunFailed:  # a loss that is no number: the runs will say so
            return 1

    def take(self, job: Job[Data]) -> RunFolder:
        """The run, when it is over."""
        waiting = self.waiting.get(job.folder)
        if waiting is None:
            return job.run(self.data, self.hardware)
        try:
            failed, fault = waiting.result()
        except KeyboardInterrupt:
            failed, fault = STOPPED, None
        if fault is not None:
            raise fault
        if failed == DIVERGED:
            raise Diverged(f"{job.folder}: the loss of this run diverged.")
        if failed:
            raise Interrupted("stopped; every run is saved.", "The same command goes on from there.")
        return RunFolder(job.folder)

    def close(self) -> None:
        """Runs that are under way are saved and end."""
        if self.ray is not None:
            self.ray.interrupt(GRACE)
            self.ray.close()
            self.ray = None
        if self.pool is not None:
            if any(not one.done() for one in self.waiting.values()):
                self.stop.set()
                for process in active_children():
                    process.terminate()  # as Ctrl-C: after the step under way
            self.pool.shutdown(wait=True, cancel_futures=True)
            self.pool = None
        self.shown.close()


def _over(passport: JsonObject) -> bool:
    return bool(passport.get("finished")) or "diverged" in passport


def fastest(pace: Callable[[int], float], most: int | None = None, work: float = math.inf) -> int:
    """How many runs in parallel: one to a core if one thread, times the cores, is faster than all threads on one run.

    `pace`: tokens a second with so many threads. No more than `most` fit the memory; `work`: tokens of all runs.
    """
    parallel = cores() if most is None else min(cores(), most)
    if parallel < 2:
        return 1
    all_threads = pace(cores())
    if work < LEAST * all_threads:
        return 1
    one = pace(1)
    pays = one * parallel > all_threads
    say(
        f"one thread trains on {thousands(one)} tokens a second, {cores()} on {thousands(all_threads)}: "
        + (
            f"{parallel} runs in parallel" + ", one to a core" * (parallel == cores())
            if pays
            else "one run at a time, on all cores"
        )
    )
    return parallel if pays else 1


# --- in a process of its own --------------------------------------------------------------------------------

_data: Any = None
_stop: Event | None = None


def _begin(data: object, threads: int, stop: Event) -> None:
    global _data, _stop
    _data, _stop = data, stop
    torch.set_num_threads(threads)


def _save_and_end() -> None:
    """The parent was killed: save what is under way, begin nothing else."""
    if _stop is not None:
        _stop.set()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    end_at_once()


def _run(job: Job[Any], hardware: Hardware) -> tuple[str, Fault | None]:
    assert _stop is not None
    return (STOPPED, None) if _stop.is_set() else outcome(RunOfJob(_data, hardware), job)


@dataclass(frozen=True)
class RunOfJob(Generic[Given]):
    """Does one job of a study, on whichever machine."""

    data: Given
    hardware: Hardware

    def __call__(self, job: Job[Given]) -> str:
        """Empty if it is finished, else why not. Its messages are in a file beside its folder until it is finished."""
        job.folder.parent.mkdir(parents=True, exist_ok=True)
        messages = job.folder.with_name(f"{job.folder.name}.log")
        with open(messages, "a", encoding="utf-8") as log, redirect_stderr(log):
            try:
                job.run(self.data, self.hardware)
            except Diverged as failed:
                say(str(failed))
                return DIVERGED
            except (Interrupted, KeyboardInterrupt):
                return STOPPED
        messages.unlink()
        return ""
