"""Ways to cut a store into rows. Row n is a pure function of (store, settings, seed, n): nothing to save, nothing to skip."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal, Protocol

import numpy as np

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

    epoch: float        # steps in which every row comes once

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        """Rows `first` to `stop` of the batch of this step."""


class Cut(Spec):
    """How rows are made. `length`: tokens in a row; the network's context if not said."""

    length: int | None = None
    marks: ClassVar[tuple[str, ...]] = ()      # what the store must know about its tokens
    carries: ClassVar[bool] = False            # rows go on where those of the batch before ended
    ragged: ClassVar[bool] = False             # rows differ in length

    def longest(self) -> tuple[int, int]:
        """(most ids in a row, texts they are parted into)."""
        return (self.length or 0) + 1, 1       # one more than is read: the last token of a row is only guessed

    def over(self, store: TokenStore, batch_size: int, seed: int) -> Cutter:
        raise TypeError(f"{type(self).__name__} cuts nothing.")

    def needs(self, store: TokenStore, tokens: int, what: str) -> int:
        """The row length, after making sure that the store has enough for it."""
        if self.length is None:
            raise Fault("batches.length is not known.", "Give it in the recipe: [batches] length = 128.")
        if store.tokens < tokens:
            raise Fault(
                f"{store.folder} ({store.split}) has {store.tokens:,} tokens, too few for {what}.",
                "Give more text, or make it smaller: --set batches.length=... --set training.batch_size=...")
        return self.length


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
        for epoch in np.unique(numbers // self.count).tolist():         # a batch may end one epoch and begin the next
            here = numbers[numbers // self.count == epoch]
            images = self.order(epoch).at(here - epoch * self.count)
            found += [(number, epoch, image) for number, image in zip(here.tolist(), images.tolist())]
        return found


POOL = 32        # batches whose rows are put in order of length together, so that little of a batch is padding


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
        length = self.needs(store, (self.length or 0) + 1, f"one window of {self.length} tokens")
        return WindowCutter(store, length, batch_size, seed)


class WindowCutter(Shuffled):
    def __init__(self, store: TokenStore, length: int, batch_size: int, seed: int):
        super().__init__((store.tokens - 1) // length, batch_size, seed)
        self.store, self.length = store, length

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [Row(self._window(epoch, index), number, self.seed)
                for number, epoch, index in self.places(step, first, stop)]

    def _window(self, epoch: int, index: int) -> np.ndarray:
        total = self.store.tokens
        start = (number_of("ring", self.seed, epoch) + index * self.length) % total
        stop = start + self.length + 1        # one more: the last token of a row is only guessed
        if stop <= total:
            return self.store.read(start, stop)
        return np.concatenate([self.store.read(start, total), self.store.read(0, stop - total)])


class Lanes(Cut):
    """The text in `batch_size` parallel columns, each read from top to bottom with its state carried along."""

    kind: Literal["lanes"] = "lanes"
    carries: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> LaneCutter:
        least = batch_size * (self.length or 0) + 1        # neighbouring lanes share a token
        return LaneCutter(store, self.needs(store, least, f"{batch_size} lanes of {self.length} tokens"),
                          batch_size, seed)


class LaneCutter:
    def __init__(self, store: TokenStore, length: int, batch_size: int, seed: int):
        self.store, self.length, self.batch_size, self.seed = store, length, batch_size, seed
        self.column = (store.tokens - 1) // batch_size
        self.steps = self.column // length
        self.epoch = float(self.steps)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        # a column is read to its end: the last target of one row is the first input of the next
        at = step % self.steps * self.length
        return [Row(self.store.read(lane * self.column + at, lane * self.column + at + self.length + 1),
                    step * self.batch_size + lane, self.seed, continues=at > 0)
                for lane in range(first, stop)]


class Runs(Cut):
    """The whole text in order, once per epoch, in runs of `length` tokens: for models that count."""

    kind: Literal["runs"] = "runs"
    length: int | None = 65536

    def over(self, store: TokenStore, batch_size: int, seed: int) -> RunCutter:
        return RunCutter(store, self.needs(store, 2, "counting"), batch_size, seed)


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
        return DocumentCutter(store, self.needs(store, 2, "one document"), batch_size, seed)


class DocumentCutter(Shuffled):
    def __init__(self, store: TokenStore, length: int, batch_size: int, seed: int):
        ends = np.asarray(store.ends, np.int64)
        self.starts = np.concatenate([[0], ends[:-1]])
        self.ends, self.store, self.length = ends, store, length
        self.pieces = np.cumsum(np.maximum(1, -(-(ends - self.starts) // length)))
        super().__init__(int(self.pieces[-1]), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [Row(self._piece(index), number, self.seed) for number, _, index in self.places(step, first, stop)]

    def _piece(self, index: int) -> np.ndarray:
        document = int(np.searchsorted(self.pieces, index, side="right"))
        before = int(self.pieces[document - 1]) if document else 0
        start = int(self.starts[document]) + (index - before) * self.length
        stop = min(start + self.length, int(self.ends[document]))
        if start > 0:
            return self.store.read(start - 1, stop)       # the token before is context: at a start, the [end] before
        begin = self.store.tokenizer.special("[end]")
        return np.concatenate([[begin], self.store.read(start, stop)])


def describe(cutter: Cutter, tokens: int, documents: int) -> str:
    return f"{thousands(tokens)} tokens in {thousands(documents)} documents, {cutter.epoch:,.1f} steps per epoch"
