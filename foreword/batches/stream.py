"""Stream: the batch of step n is a pure function of (store, recipe, seed, n, rank, world)."""

from __future__ import annotations

from collections.abc import Callable
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
