"""Ways to cut a store into rows. Row n is a pure function of (store, settings, seed, n): nothing to save, nothing to skip."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from pydantic import PrivateAttr

from foreword.basics.messages import Fault, thousands
from foreword.basics.seeds import Permutation, chance, number_of
from foreword.basics.spec import Spec
from foreword.batches.row import Row
from foreword.tokens.store import TokenStore


class Cutter(Protocol):
    """A cut applied to a store.

    Rows that do not carry are one endless row of rows: `rows(step, first, stop)` are the rows step * batch_size + first
    and so on of the run, so `rows(0, first, stop)` are any. Mixtures and growing batches count on it.
    """

    epoch: float  # steps in which every row comes once

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        """Rows `first` to `stop` of the batch of this step."""


class RowSize(NamedTuple):
    """How long a row is, as the objective has it."""

    ids: int  # at most
    overlap: int = 0  # of them, those at the end that are only guessed: the next row begins with them

    @property
    def stride(self) -> int:
        """From the start of a row to that of the next."""
        return self.ids - self.overlap


class Cut(Spec):
    """How rows are made. `length`: positions that the network reads of a row; its context by default."""

    length: int | None = None
    marks: ClassVar[tuple[str, ...]] = ()  # what the store must know about its tokens
    carries: ClassVar[bool] = False  # rows go on where those of the batch before ended
    ragged: ClassVar[bool] = False  # rows differ in length
    texts: ClassVar[int] = 1  # in a row
    _size: RowSize | None = PrivateAttr(None)

    def sized(self, length: int, size: RowSize) -> Self:
        """The same cut for rows of this many positions, which are this many ids."""
        made = self.model_copy(update={"length": length})
        made._size = size
        return made

    def over(self, store: TokenStore, batch_size: int, seed: int) -> Cutter:
        raise TypeError(f"{type(self).__name__} cuts nothing.")

    def size(self) -> RowSize:
        if self._size is None or self.length is None:
            raise Fault("batches.length is not known.", "Give it in the recipe: [batches] length = 128.")
        return self._size

    def needs(self, store: TokenStore, tokens: int, what: str) -> None:
        """Make sure that the store has enough tokens."""
        if store.tokens < tokens:
            raise Fault(
                f"{store.folder} ({store.split}) has {store.tokens:,} tokens, too few for {what}.",
                "Give more text, or make it smaller: --set batches.length=... --set training.batch_size=...",
            )


class Shuffled:
    """Rows drawn without replacement: each epoch is a new computed permutation of all rows."""

    def __init__(self, count: int, batch_size: int, seed: int):
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self.epoch = count / batch_size
        self.order = lru_cache(maxsize=4)(lambda epoch: Permutation(count, seed, epoch))

    def places(self, step: int, first: int, stop: int) -> list[tuple[int, int, int]]:
        """(number of the row in the run, epoch, which row of the epoch) for each wanted row of a batch."""
        numbers = np.arange(step * self.batch_size + first, step * self.batch_size + stop)
        found = []
        for epoch in np.unique(numbers // self.count).tolist():  # a batch may end one epoch and begin the next
            here = numbers[numbers // self.count == epoch]
            images = self.order(epoch).at(here - epoch * self.count)
            found += [(number, epoch, image) for number, image in zip(here.tolist(), images.tolist())]
        return found


POOL = 32  # batches whose rows are put in order of length together, so that little of a batch is padding


class Bucketed(Shuffled):
    """Shuffled rows of unequal length, those of like length side by side: a batch is still a pure function of its step."""

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int):
        super().__init__(len(lengths), batch_size, seed)
        self.lengths = lengths
        self.pool = lru_cache(maxsize=4)(self._pool)

    def place(self, number: int) -> int:
        """Which row is the one of this number in the run."""
        epoch, index = divmod(number, self.count)
        size = POOL * self.batch_size
        return int(self.pool(epoch, index // size)[index % size])

    def _pool(self, epoch: int, pool: int) -> np.ndarray:
        """Which row stands at each place of a pool: rows of like length side by side, batch by batch in random order."""
        first = pool * POOL * self.batch_size
        rows = self.order(epoch).at(np.arange(first, min(first + POOL * self.batch_size, self.count)))
        alike = rows[np.argsort(self.lengths[rows], kind="stable")]
        batches = np.split(alike, range(self.batch_size, len(rows), self.batch_size))
        order = chance(self.seed, epoch, 5, pool).permutation(len(batches))
        return np.concatenate([batches[i] for i in order])


class Windows(Cut):
    """Stretches of `length` tokens that together cover the text once per epoch, in random order.

    The text is taken as a ring that starts at another place each epoch, so the cuts fall elsewhere.
    """

    kind: Literal["windows"] = "windows"

    def over(self, store: TokenStore, batch_size: int, seed: int) -> WindowCutter:
        size = self.size()
        self.needs(store, size.ids, f"one window of {self.length} tokens")
        return WindowCutter(store, size, batch_size, seed)


class WindowCutter(Shuffled):
    def __init__(self, store: TokenStore, size: RowSize, batch_size: int, seed: int):
        super().__init__((store.tokens - size.overlap) // size.stride, batch_size, seed)
        self.store, self.size = store, size

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [
            Row(self._window(epoch, index), number, self.seed)
            for number, epoch, index in self.places(step, first, stop)
        ]

    def _window(self, epoch: int, index: int) -> np.ndarray:
        total = self.store.tokens
        start = (number_of("ring", self.seed, epoch) + index * self.size.stride) % total
        stop = start + self.size.ids
        if stop <= total:
            return self.store.read(start, stop)
        return np.concatenate([self.store.read(start, total), self.store.read(0, stop - total)])


class Lanes(Cut):
    """The text in `batch_size` parallel columns, each read from top to bottom with its state carried along."""

    kind: Literal["lanes"] = "lanes"
    carries: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> LaneCutter:
        size = self.size()
        self.needs(store, batch_size * size.stride + size.overlap, f"{batch_size} lanes of {self.length} tokens")
        return LaneCutter(store, size, batch_size, seed)


class LaneCutter:
    def __init__(self, store: TokenStore, size: RowSize, batch_size: int, seed: int):
        self.store, self.size, self.batch_size, self.seed = store, size, batch_size, seed
        self.column = (store.tokens - size.overlap) // batch_size
        self.steps = self.column // size.stride
        self.epoch = float(self.steps)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        # a column is read to its end: the last target of one row is the first input of the next
        at = step % self.steps * self.size.stride
        return [
            Row(
                self.store.read(lane * self.column + at, lane * self.column + at + self.size.ids),
                step * self.batch_size + lane,
                self.seed,
                continues=at > 0,
            )
            for lane in range(first, stop)
        ]


class Runs(Cut):
    """The whole text in order, once per epoch, in runs of `length` tokens: for models that count."""

    kind: Literal["runs"] = "runs"
    length: int | None = 65536

    def over(self, store: TokenStore, batch_size: int, seed: int) -> RunCutter:
        self.needs(store, 2, "counting")
        return RunCutter(store, self.size().stride, batch_size, seed)


class RunCutter:
    def __init__(self, store: TokenStore, length: int, batch_size: int, seed: int):
        self.store, self.length, self.batch_size, self.seed = store, length, batch_size, seed
        self.runs = -(-store.tokens // length)
        self.epoch = self.runs / batch_size

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        found = []
        for number in range(step * self.batch_size + first, step * self.batch_size + stop):
            start = number % self.runs * self.length
            run = self.store.read(start, min(start + self.length, self.store.tokens))
            found.append(Row(run, number, self.seed, continues=start > 0))
        return found


class Documents(Cut):
    """One document a row, in random order; a longer one becomes several rows."""

    kind: Literal["documents"] = "documents"
    ragged: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> DocumentCutter:
        self.needs(store, 2, "one document")
        return DocumentCutter(store, self.size(), batch_size, seed)


class DocumentCutter(Shuffled):
    def __init__(self, store: TokenStore, size: RowSize, batch_size: int, seed: int):
        ends = np.asarray(store.ends, np.int64)
        self.starts = np.concatenate([[0], ends[:-1]])
        self.ends, self.store, self.size = ends, store, size
        self.pieces = np.cumsum(np.maximum(1, -(-(ends - self.starts) // size.stride)))
        super().__init__(int(self.pieces[-1]), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [Row(self._piece(index), number, self.seed) for number, _, index in self.places(step, first, stop)]

    def _piece(self, index: int) -> np.ndarray:
        document = int(np.searchsorted(self.pieces, index, side="right"))
        before = int(self.pieces[document - 1]) if document else 0
        start = int(self.starts[document]) + (index - before) * self.size.stride
        stop = min(start + self.size.stride, int(self.ends[document]))
        if start >= self.size.overlap:
            return self.store.read(start - self.size.overlap, stop)  # context; at a start, the [end] before it
        begin = self.store.tokenizer.special("[end]")
        return np.concatenate([[begin] * (self.size.overlap - start), self.store.read(0, stop)])


def describe(cutter: Cutter, tokens: int, documents: int) -> str:
    return f"{thousands(tokens)} tokens in {thousands(documents)} documents, {cutter.epoch:,.1f} steps per epoch"
