"""Stream: the batch of step n is a pure function of (store, recipe, seed, n, rank, world)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from foreword.basics.messages import Fault
from foreword.batches.cuts import Cutter
from foreword.batches.row import Row

T = TypeVar("T")


class Stream(Generic[T]):
    """Batches without end. `batch_size` counts the rows of all ranks together; each rank takes its share of them."""

    def __init__(self, cutter: Cutter, collate: Callable[[list[Row]], T], batch_size: int, rank: int = 0,
                 world: int = 1):
        if batch_size % world:
            raise Fault(f"training.batch_size {batch_size} cannot be shared by {world} processes.",
                        f"Give a multiple of {world}.")
        self.cutter, self.collate = cutter, collate
        share = batch_size // world
        self.first, self.stop = rank * share, (rank + 1) * share

    def batch(self, step: int) -> T:
        return self.collate(self.cutter.rows(step, self.first, self.stop))

    def epochs(self, step: int) -> float:
        """How often the text has been read after this many steps."""
        return step / self.cutter.epoch


class Ahead(Generic[T]):
    """The same batches, the next one made while this one is used. A batch depends on its step alone, so nothing changes."""

    def __init__(self, stream: Stream[T]):
        self.stream, self.epochs = stream, stream.epochs
        self.maker = ThreadPoolExecutor(1, "batches")
        self.next: tuple[int, Future[T]] | None = None

    def batch(self, step: int) -> T:
        made = self.next[1].result() if self.next and self.next[0] == step else self.stream.batch(step)
        self.next = step + 1, self.maker.submit(self.stream.batch, step + 1)
        return made

    def close(self) -> None:
        self.maker.shutdown(cancel_futures=True)
