"""Runs of a study side by side, one to a core: a small model learns hardly faster on several, and its seeds are many."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, redirect_stderr
from dataclasses import dataclass, replace
from multiprocessing import active_children, connection, get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import torch

from foreword.basics.cores import cores
from foreword.basics.messages import Diverged, Interrupted, RunFailed
from foreword.basics.progress import say, ticking
from foreword.compare.sweep import fastest, paced
from foreword.runs.folder import RunFolder
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.hardware import Hardware, free_memory
from foreword.transfer.finetune import Tuning, finetune, finetune_run
from foreword.transfer.label_subset import exchanged, label_subset

WORTH = 60.0                  # seconds of work, below which others are not worth waking
EACH = 2**30                  # bytes that a process takes beside its model: libraries, examples, a batch on its way
WEIGHT = 16                   # bytes of a weight that learns: itself, its gradient, and what AdamW knows of it
DIVERGED, STOPPED = "diverged", "stopped"
GRACE = 20.0                  # seconds to save, once whoever started this is gone


@dataclass(frozen=True)
class Job:
    """One run: whose weights, on which of the examples, where."""

    model: Path
    folder: Path
    how: Tuning
    seed: int                 # that draws the examples; a restart keeps it
    exchanged: bool = False   # the labels, among the examples

    def task(self, whole: LabelledTask) -> LabelledTask:
        some = label_subset(whole, self.how.labels, self.seed)
        return exchanged(some, self.seed) if self.exchanged else some

    def done(self, whole: LabelledTask, hardware: Hardware | None) -> RunFolder:
        return finetune(self.model, self.task(whole), self.folder, self.how, hardware)


class Runs:
    """Does jobs; with `ahead`, those begin before they are asked for, several at a time."""

    def __init__(self, task: LabelledTask, hardware: Hardware | None):
        self.task, self.hardware = task, hardware or Hardware()
        self.waiting: dict[Path, Future[str]] = {}
        self.pool: ProcessPoolExecutor | None = None
        self.shown = ExitStack()

    def ahead(self, jobs: Iterable[Job], at_once: int | None = None) -> int:
        """How many go on at a time: those that are asked for, or what is measured to be quickest."""
        jobs = [job for job in jobs if not _over(RunFolder(job.folder).passport())]
        together = min(at_once or self._quickest(jobs), len(jobs))
        if together > 1:
            spawn = get_context("spawn")
            self.stop = spawn.Event()
            self.pool = ProcessPoolExecutor(together, spawn, _ready, (self.task, max(1, cores() // together), self.stop))
            self.waiting = {job.folder: self.pool.submit(_run, job, self.hardware) for job in jobs}
            self._watch(f"{len(jobs)} runs, {together} at a time", list(self.waiting.values()))
        return together

    def _watch(self, title: str, every: list[Future[str]]) -> None:
        ticker = self.shown.enter_context(ticking(title))

        def tell(_: Future[str]) -> None:
            over = sum(one.done() for one in every)
            ticker.update(over / len(every), f"{over} of {len(every)} runs")
        for one in every:
            one.add_done_callback(tell)

    def _quickest(self, jobs: list[Job]) -> int:
        if len(jobs) < 2 or cores() == 1 or self.hardware.device != "cpu":
            return 1
        first = jobs[0]
        sitting = finetune_run(first.model, first.task(self.task), RunFolder(Path(os.devnull)), first.how,
                              replace(self.hardware, prefetch=False))
        room = free_memory("cpu") // (EACH + WEIGHT * sitting.model.parameter_count())
        try:
            return fastest(lambda threads: paced(sitting, threads), int(room), len(jobs) * sitting.tokens(), WORTH)
        except RunFailed:                # a loss that is no number: the runs will say so
            return 1

    def take(self, job: Job) -> RunFolder:
        """The run, when it is over."""
        waiting = self.waiting.get(job.folder)
        if waiting is None:
            return job.done(self.task, self.hardware)
        try:
            said = waiting.result()
        except KeyboardInterrupt:
            said = STOPPED
        if said == DIVERGED:
            raise Diverged(f"{job.folder}: the loss of this run ran away, or became no number.")
        if said:
            raise Interrupted("stopped; what every run had learned is saved.", "The same command goes on from there.")
        return RunFolder(job.folder)

    def close(self) -> None:
        """What is still under way is saved and ends."""
        if self.pool is not None:
            if any(not one.done() for one in self.waiting.values()):
                self.stop.set()
                for process in active_children():
                    process.terminate()                       # as Ctrl-C: after the step under way
            self.pool.shutdown(wait=True, cancel_futures=True)
            self.pool = None
        self.shown.close()


def _over(passport: dict[str, Any]) -> bool:
    return bool(passport.get("finished")) or "diverged" in passport


# --- in a process of its own --------------------------------------------------------------------------------------------

_task: LabelledTask | None = None
_stop: Event | None = None


def _ready(task: LabelledTask, threads: int, stop: Event) -> None:
    global _task, _stop
    _task, _stop = task, stop
    torch.set_num_threads(threads)
    threading.Thread(target=_ends_with_its_parent, daemon=True).start()


def _ends_with_its_parent() -> None:
    """Whoever started this may be killed: what is under way is saved then, and no other run begun."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        if _stop is not None:
            _stop.set()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)


def _run(job: Job, hardware: Hardware) -> str:
    """Empty if it is finished, else why not. What it has to say stands in a file beside its folder until then."""
    assert _task is not None
    assert _stop is not None
    if _stop.is_set():
        return STOPPED
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    said = job.folder.with_name(f"{job.folder.name}.log")
    with open(said, "a", encoding="utf-8") as log, redirect_stderr(log):
        try:
            job.done(_task, hardware)
        except Diverged as failed:
            say(str(failed))
            return DIVERGED
        except (Interrupted, KeyboardInterrupt):
            return STOPPED
    said.unlink()
    return ""
