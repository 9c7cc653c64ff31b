"""Columns of numbers that are written at their end and read in slices: in memory while they are short, then in a file.

Counting text that does not fit in memory reads and writes columns from front to back, block by block. Files are read, not
mapped, so that what was read leaves memory again.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from foreword.basics.allocation import give_back_memory
from foreword.basics.cores import cores
from foreword.basics.messages import RunFailed
from foreword.basics.shards import Workers

Item = TypeVar("Item")
Made = TypeVar("Made")

PER_TOKEN = 180  # bytes that counting one token takes at the peak, or merging one n-gram
ALL = 1 << 62


class Scratch:
    """How much is handled at once, and where the rest lies meanwhile. Without a bound, everything at once in memory."""

    def __init__(self, memory: int | None = None, workers: int | None = None, cluster: str = ""):
        self.cluster = cluster
        self.workers = 1 if memory is None else workers or min(2, cores())
        self.block = ALL if memory is None else max(1, memory // (PER_TOKEN * self.workers))  # tokens or n-grams
        self.limit = ALL if memory is None else memory // 16  # bytes up to which columns stay in memory, all together
        self.held = 0  # bytes of columns that are in memory
        self._folder: Path | None = None
        self._number = itertools.count()
        if memory is not None:  # threads that take turns would each keep the largest block they ever had
            give_back_memory(2**20)

    def column(self, dtype: object) -> Column:
        return Column(dtype, self)

    def path(self) -> Path:
        """A file that is gone when nobody needs this scratch any more."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="foreword-counts-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder / f"{next(self._number)}"

    def mapped(self, function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """`function` of each item, in order, by threads: numpy sorts and gathers without holding the others up."""
        if self.workers == 1:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: deque[Future[Made]] = deque()
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def counted(self, function: Callable[[Item], Made], shards: Iterable[Item]) -> Iterator[Made]:
        """The same on the cluster, if there is one."""
        if not self.cluster:
            yield from self.mapped(function, shards)
            return
        with Workers(cluster=self.cluster).start() as pool:
            yield from pool.map(function, shards)

    def slices(self, length: int) -> Iterator[slice]:
        """Blocks of a column of this length."""
        for start in range(0, length, self.block):
            yield slice(start, min(start + self.block, length))


class Column:
    """Numbers of one type, the longer ones on disk."""

    def __init__(self, dtype: Any, scratch: Scratch):
        self.dtype, self.scratch = np.dtype(dtype), scratch
        self.length = 0
        self.parts: list[np.ndarray] = []
        self.path: Path | None = None

    def append(self, values: np.ndarray) -> Column:
        values = np.ascontiguousarray(values, self.dtype)
        self.length += len(values)
        self.parts.append(values)
        self.scratch.held += values.nbytes
        if self.path is not None or self.scratch.held > self.scratch.limit:
            self._spill()
        return self

    def _spill(self) -> None:
        self.path = self.path or self.scratch.path()
        try:
            with open(self.path, "ab") as file:
                for part in self.parts:
                    part.tofile(file)
        except OSError as error:
            raise RunFailed(
                f"counting needs more room for its sorted runs than there is in {self.path.parent.parent}: {error}.",
                "Name a larger disk: TMPDIR=/large/disk foreword train ...",
            ) from error
        self._release()

    def _release(self) -> None:
        self.scratch.held -= sum(part.nbytes for part in self.parts)
        self.parts = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, rows: slice) -> np.ndarray:
        """These rows, to be changed only by whoever asked for a file's."""
        start, stop, _ = rows.indices(self.length)
        if self.path is None:
            return self.array()[start:stop]
        return np.fromfile(self.path, self.dtype, max(stop - start, 0), offset=start * self.dtype.itemsize)

    def array(self) -> np.ndarray:
        """All of it; from a file, mapped: for looking up here and there."""
        if self.path is not None and self.length:
            return np.memmap(self.path, self.dtype, "c", shape=(self.length,))
        if len(self.parts) != 1:  # a file without any cannot be mapped
            self.parts = [np.concatenate(self.parts) if self.parts else np.zeros(0, self.dtype)]
        return self.parts[0]

    def clear(self) -> None:
        """Forget the numbers: they are not needed any more."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        self._release()
        self.length, self.path = 0, None


def key_blocks(runs: list[Column], block: int) -> Iterator[list[slice]]:
    """Cuts through all sorted runs at the same keys, with about `block` keys between two cuts."""
    wanted = -(-sum(map(len, runs)) // block)
    step = max(1, block // (4 * len(runs)))
    sample = np.sort(np.concatenate([run[:][::step].copy() for run in runs]))  # not a view of all of it
    borders = np.unique(sample[np.arange(1, wanted) * len(sample) // max(wanted, 1)])
    cuts = np.stack([np.concatenate([[0], np.searchsorted(run[:], borders), [len(run)]]) for run in runs], 1)
    for starts, stops in zip(cuts, cuts[1:]):
        yield [slice(int(start), int(stop)) for start, stop in zip(starts, stops)]
