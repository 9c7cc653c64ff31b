"""A function over shards: in this process, in processes of this machine, or on a Ray cluster.

Whoever works, the results are the same and come in the order of the shards. `Unfinished` keeps them while the whole is made.
"""

from __future__ import annotations

import copy
import os
import signal
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, TypeVar

from foreword.basics.cores import cores
from foreword.basics.messages import Fault, Faults, RunFailed
from foreword.basics.processes import process_pool

AHEAD = 4  # results per worker that may wait for a slower one before them
Shard = TypeVar("Shard")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """Who works: so many processes (1: this one alone; None: one to a core), or a Ray cluster.

    `cluster`: "auto" starts one on this machine, an address (ray://head:10001, head:6379) joins one.
    """

    number: int | None = None
    cluster: str = ""

    def start(self) -> Pool:
        if self.number is not None and self.number < 1:
            raise Fault(f"--workers {self.number}: at least one has to work.")
        if self.cluster:
            from foreword.basics.cluster import RayPool

            return RayPool(self.cluster, self.number)
        return Pool(self.number or cores())


class Pool:
    """The workers of this machine. Processes are started by the first map that is given more than one shard."""

    def __init__(self, number: int):
        self.number = number
        self.own: list[Executor] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def map(self, function: Callable[[Shard], Result], shards: Iterable[Shard], here: bool = False) -> Iterator[Result]:
        """The result of each shard, in order. `function` is pickled, once for each worker; `here`: too little work for others.

        After a fault a few more shards are looked at: faults are reported together.
        """
        if here or not self.others:
            yield from map(function, shards)
            return
        idle, numbered = self.executors(), enumerate(shards)
        running: dict[Future[Any], tuple[int, Executor]] = {}
        found: dict[int, Result] = {}
        faults: list[Fault] = []
        next_number, more = 0, 2 * self.number
        call, given = self.carried(function)
        try:
            while True:
                while idle and len(found) < AHEAD * self.number and (not faults or more > 0):
                    if (one := next(numbered, None)) is None:
                        break
                    more -= bool(faults)
                    executor = idle.pop()
                    running[executor.submit(call, *given, one[1])] = one[0], executor
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, executor = running.pop(future)
                    idle.append(executor)
                    result, fault = future.result()
                    found[number] = result
                    faults += [fault] if fault else []
                while next_number in found and not faults:
                    yield found.pop(next_number)
                    next_number += 1
        except self.broken() as error:
            raise self.died() from error
        finally:
            for future in running:
                future.cancel()
        if faults:
            serious = [fault for fault in faults if isinstance(fault, RunFailed)]
            raise serious[0] if serious else faults[0] if len(faults) == 1 else Faults(faults)

    @property
    def others(self) -> bool:
        """Whether anyone but this process works."""
        return self.number > 1

    def executors(self) -> list[Executor]:
        """One entry for each shard that may be under way."""
        if not self.own:
            # the thread begins while the processes are still starting
            self.own = [process_pool(self.number - 1, _begin), ThreadPoolExecutor(1)]
        processes, thread = self.own
        return [processes] * (self.number - 1) + [thread]

    def carried(self, function: Callable[[Shard], Result]) -> tuple[Callable[..., object], tuple[object, ...]]:
        """What is submitted before each shard: a call that finds `function` in the worker."""
        return attempt, (uuid.uuid4().hex, function)

    def broken(self) -> tuple[type[Exception], ...]:
        return (BrokenProcessPool,)

    def died(self) -> Fault:
        return RunFailed(
            "a worker process died, perhaps for want of memory.",
            "Give the same command again with fewer --workers; it goes on from there. (A script that starts workers "
            'has to do it under `if __name__ == "__main__":`.)',
        )

    def close(self) -> None:
        for executor in self.own:
            executor.shutdown(wait=True, cancel_futures=True)
        self.own = []


# --- in the worker ---------------------------------------------------------------------------------------------------

_known: dict[str, Callable[[Any], Any]] = {}  # the function of the latest map


def attempt(key: str, function: Callable[[object], object], shard: object) -> tuple[object, Fault | None]:
    """The first copy of the function serves for all shards: what it has loaded, such as a tokenizer, is loaded once."""
    if key not in _known:
        _known.clear()
        _known[key] = copy.deepcopy(function)  # in this process it goes on being sent to others, as it is now
    return outcome(_known[key], shard)


def outcome(function: Callable[[Any], Any], shard: Any) -> tuple[Any, Fault | None]:
    """The result, or what is wrong with the shard."""
    try:
        return function(shard), None
    except Fault as fault:
        return None, fault


def _begin() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process per core is enough
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
