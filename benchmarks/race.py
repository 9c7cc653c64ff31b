"""Candidates take turns in one process: what disturbs the machine disturbs them all, so their ratios mean something."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Work = Callable[[], object]


@dataclass(frozen=True)
class Times:
    """Seconds of one call: the warm-up (which may compile), and of all after it the least and the middle one.

    `core` counts the seconds of every core, worker processes included; the others are those of the clock on the wall.
    """

    first: float
    first_core: float
    best: float
    median: float
    core: float
    core_median: float
    calls: int


def race(candidates: Mapping[str, Work], rounds: int, seconds: float = 1.0) -> dict[str, Times]:
    """Everyone's turn comes once a round and lasts `seconds`, or one call if that takes longer."""
    first = {name: _both(work) for name, work in candidates.items()}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for _ in range(max(rounds, 1)):
        for name, work in candidates.items():
            turn = [_both(work)]
            while sum(wall for wall, _ in turn) < seconds:
                turn.append(_both(work))
            taken[name] += turn
    found = {}
    for name, calls in taken.items():
        walls, cores = zip(*calls)
        found[name] = Times(*first[name], min(walls), median(walls), min(cores), median(cores), len(calls))
    return found


def seconds_of(work: Work) -> float:
    return _both(work)[0]


def _both(work: Work) -> tuple[float, float]:
    """Seconds on the wall, and of all cores together."""
    wall, core = time.perf_counter(), _core_seconds()
    work()
    return time.perf_counter() - wall, _core_seconds() - core


def _core_seconds() -> float:
    """Of this process, and of those it started and has seen the end of."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def resident(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most so far. `ru_maxrss` would still remember the parent's before exec."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{field}:")).split()[1]) * 1024
