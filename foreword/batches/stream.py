"""Stream: the batch of step n is a pure function of (store, recipe, seed, n, rank, world)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

from foreword.batches.cuts import Cutter
from foreword.batches.row import Row

T = TypeVar("T")


class Sizes(Protocol):
    """Batches that are not all of one size."""

    def size(self, step: int) -> int:
        """How many rows the batch of this step has."""

    def before(self, step: int) -> int:
        """How many rows were read before this step."""


class Growth:
    """Batches that grow from `start` rows to `full` rows in a straight line while the first `over` rows are read.

    The line is climbed by stairs of whole multiples of what divides both sizes, so that processes which can share these can
    share every size between. Each stair is a few numbers; how many rows come before a step is looked up among them.
    """

    def __init__(self, start: int, full: int, over: int):
        stair = math.gcd(start, full)
        size, step, rows = start, 0, 0
        self.stairs = [(step, rows, size)]  # (its first step, rows before that, rows of each of its batches)
        while size < full:
            due = -(-(size - start + stair) * over // (full - start))  # rows after which the line is a stair higher
            steps = -(-(due - rows) // size)
            step, rows = step + steps, rows + steps * size
            size = min(full, start + stair * ((full - start) * rows // (over * stair)))
            self.stairs.append((step, rows, size))

    def size(self, step: int) -> int:
        return self._growth_step(step)[2]

    def before(self, step: int) -> int:
        """How many rows were read before this step."""
        first, rows, size = self._growth_step(step)
        return rows + (step - first) * size

    def _growth_step(self, step: int) -> tuple[int, int, int]:
        return self.stairs[bisect_right(self.stairs, step, key=lambda stair: stair[0]) - 1]


class Stream(Generic[T]):
    """Batches without end. `batch_size` counts the rows of all ranks together; each rank takes its share of them."""

    def __init__(
        self,
        cutter: Cutter,
        collate: Callable[[list[Row]], T],
        batch_size: int,
        rank: int = 0,
        world: int = 1,
        growth: Sizes | None = None,
    ):
        self.cutter, self.collate = cutter, collate
        self.growth: Sizes | None = growth or getattr(cutter, "sizes", None)  # a cutter may have batches of its own
        self.batch_size, self.rank, self.world = batch_size, rank, world

    def batch(self, step: int) -> T:
        size = self.growth.size(step) if self.growth else self.batch_size
        first, stop = self.rank * size // self.world, (self.rank + 1) * size // self.world
        if self.growth is None:
            return self.collate(self.cutter.rows(step, first, stop))
        before = self.growth.before(step)
        return self.collate(self.cutter.rows(0, before + first, before + stop))

    def rows(self, step: int) -> int:
        """How many rows were read before this step, by all ranks."""
        return self.growth.before(step) if self.growth else step * self.batch_size

    def epochs(self, step: int) -> float:
        """How often the text has been read after this many steps."""
        return self.rows(step) / self.batch_size / self.cutter.epoch


class Prefetched(Generic[T]):
    """The same batches, the next one made while this one is used. A batch depends on its step alone, so nothing changes."""

    def __init__(self, stream: Stream[T]):
        self.stream, self.rows, self.epochs = stream, stream.rows, stream.epochs
        self.maker = ThreadPoolExecutor(1, "batches")
        self.next: tuple[int, Future[T]] | None = None

    def batch(self, step: int) -> T:
        made = self.next[1].result() if self.next and self.next[0] == step else self.stream.batch(step)
        self.next = step + 1, self.maker.submit(self.stream.batch, step + 1)
        return made

    def close(self) -> None:
        self.maker.shutdown(cancel_futures=True)
