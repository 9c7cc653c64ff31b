"""The race: candidates with more and more labels, those that cannot win any more left out, until the budget is spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import active_children

import numpy as np

from foreword.basics.cores import cores
from foreword.basics.messages import Fault, duration
from foreword.basics.processes import process_pool
from foreword.basics.progress import Ticker, say
from foreword.compare.advise.candidates import BASELINE, CONSTANT, Candidate
from foreword.compare.advise.problem import Problem, sizes
from foreword.compare.advise.trials import KeptTrials, Trial, run_trial
from foreword.tasks.metrics import difference

GROWTH = 1.2  # seconds grow with labels by this power, about
HOPELESS = 2.0  # standard errors behind the best: no need to go on
ALWAYS = (CONSTANT, BASELINE)


class Clock:
    """The budget in seconds, over all calls with the same folder."""

    def __init__(self, budget: float, before: float = 0.0):
        self.budget, self.before, self.began = budget, before, time.monotonic()

    @property
    def spent(self) -> float:
        return self.before + time.monotonic() - self.began

    @property
    def left(self) -> float:
        return self.budget - self.spent


@dataclass
class CandidateRace:
    """Trials by candidate and number of labels, and who is still in it."""

    problem: Problem
    kept: KeptTrials
    clock: Clock
    ticker: Ticker
    trials: dict[tuple[str, int | None], Trial] = field(default_factory=dict)
    too_slow: dict[str, float] = field(default_factory=dict)  # seconds that would be needed

    def run(self, candidates: Sequence[Candidate], until: float) -> None:
        """All sizes; `until`: seconds that have to be left when it ends."""
        alive = list(candidates)
        for size in sizes(self.problem):
            self.round([one for one in alive if self.affordable(one, size, until)], size, until)
            alive = [one for one in alive if self.alive(one.name, size)]

    def round(self, candidates: Iterable[Candidate], size: int | None, until: float, only: int | None = None) -> None:
        """One number of labels, a candidate to a core."""
        note = "" if only is None else "-one"
        todo = []
        for one in candidates:
            done = self.kept.find(one.name, size, note)
            if done is None:
                todo.append(one)
            else:
                self.trials[one.name, size] = done
        for name, trial in side_by_side(self.problem, todo, size, lambda: self.clock.left - until, self.show, only):
            self.trials[name, size] = trial
            if not trial.failed:
                self.kept.keep(trial, note)

    def show(self, name: str) -> None:
        self.ticker.update(min(self.clock.spent / self.clock.budget, 0.99), name)

    def affordable(self, one: Candidate, size: int | None, until: float) -> bool:
        """Whether what it took with fewer labels says that this can be paid."""
        tried = [trial for (name, _), trial in self.trials.items() if name == one.name and not trial.failed]
        if not tried or self.kept.find(one.name, size):
            return True
        last = tried[-1]
        labels = size or self.problem.learned_from
        learning = (last.seconds - last.answering) * (labels / (last.size or labels)) ** GROWTH
        needed = learning + last.answering
        if needed <= (self.clock.left - until) * (0.9 if one.name == BASELINE else 0.5):
            return True
        self.too_slow[one.name] = needed
        return False

    def alive(self, name: str, size: int | None) -> bool:
        mine = self.trials.get((name, size))
        if name in ALWAYS:
            return True
        if mine is None or mine.failed:
            return False
        best = self.best(size)
        if best is None or best.name == name:
            return True
        apart, error = self.apart(best, mine)
        return apart < HOPELESS * max(error, 1e-9)

    def best(self, size: int | None) -> Trial | None:
        found = [one for (_, at), one in self.trials.items() if at == size and not one.failed]
        return max(found, key=lambda one: (one.value, -one.seconds), default=None)

    def apart(self, one: Trial, other: Trial) -> tuple[float, float]:
        """(how much better the first is on the examples that both answered, the standard error of that)"""
        both = sorted(set(one.places) & set(other.places))
        rows = [dict(zip(trial.places, trial.predictions)) for trial in (other, one)]
        theirs, own = (self.problem.judged(both, [row[place] for place in both]) for row in rows)
        found = difference(self.problem.measure.metric, theirs, own)
        return found.value, (found.interval[1] - found.interval[0]) / 3.92

    def furthest(self) -> list[Trial]:
        """Of every candidate the trial with most labels, the best first; those with all labels stand first."""
        last: dict[str, Trial] = {}
        for (name, _), trial in self.trials.items():
            if not trial.failed:
                last[name] = trial
        return sorted(last.values(), key=lambda one: (one.size is not None, -(one.size or 0), -one.value, one.name))


# --- in processes ---------------------------------------------------------------------------------------------------

_problem: Problem | None = None


def _begin(problem: Problem) -> None:
    global _problem
    _problem = problem
    from threadpoolctl import threadpool_limits

    threadpool_limits(problem.threads)


def _trial(candidate: Candidate, size: int | None, only: int | None) -> Trial:
    assert _problem is not None
    return run_trial(_problem, candidate, size, only)


def side_by_side(
    problem: Problem,
    todo: Sequence[Candidate],
    size: int | None,
    left: Callable[[], float],
    show: Callable[[str], None],
    only: int | None = None,
) -> list[tuple[str, Trial]]:
    """The trials of all, each in a process: what crashes, or is not done in time, is one without answers."""
    if not todo:
        return []
    found: list[tuple[str, Trial]] = []
    pool = process_pool(max(1, min(cores() // problem.threads, len(todo))), _begin, (problem,))
    running: dict[Future[Trial], Candidate] = {pool.submit(_trial, one, size, only): one for one in todo}
    try:
        while running and left() > 0:
            for future in wait(running, timeout=min(1.0, max(left(), 0.01)), return_when=FIRST_COMPLETED).done:
                one = running.pop(future)
                error = future.exception()
                found.append(
                    (one.name, future.result() if error is None else Trial.without(one.name, size, why(error)))
                )
                show(one.name)
        for one in running.values():
            found.append((one.name, Trial.without(one.name, size, "not done within the budget")))
    finally:
        stop(pool)
    for name, trial in found:
        if trial.failed:
            say(f"{name}: {trial.failed}")
    return found


def why(error: BaseException) -> str:
    if isinstance(error, BrokenProcessPool):
        return "its process died, perhaps for want of memory"
    return str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"


def stop(pool: ProcessPoolExecutor) -> None:
    mine = {process.pid for process in active_children()}
    pool.shutdown(wait=False, cancel_futures=True)
    for process in active_children():
        if process.pid in mine:
            process.kill()


def average(problem: Problem, first: Trial, *others: Trial) -> Trial | None:
    """The mean of what several say of every class; None where they do not say it of the same examples."""
    if any(one.places != first.places or len(one.shares) != len(first.shares) for one in others) or not first.shares:
        return None
    shares = np.mean([one.table for one in (first, *others)], 0)
    labels = problem.task.labels
    predictions = tuple(labels[int(row.argmax())] for row in shares)
    name = " + ".join(one.name for one in (first, *others))
    kept = tuple(map(tuple, shares.tolist()))
    return Trial(
        name, first.size, 0, "", problem.value(first.places, predictions), 0.0, first.places, predictions, kept
    )


def not_tried(seconds: float) -> str:
    return f"not tried: about {duration(seconds)} more"
