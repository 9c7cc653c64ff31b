"""Ways to cut a store into rows. Row n is a pure function of (store, settings, seed, n): nothing to save, nothing to skip."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from pydantic import Field, PrivateAttr

from foreword.basics.messages import Fault, thousands
from foreword.basics.numbers import Size
from foreword.basics.seeds import number_of
from foreword.basics.spec import Spec
from foreword.batches.row import Row
from foreword.batches.shuffled import Shuffled
from foreword.tokens.store import TokenStore


class Cutter(Protocol):
    """A cut applied to a store.

    Rows that do not carry are one endless row of rows: `rows(step, first, stop)` are the rows step * batch_size + first
    and so on of the run, so `rows(0, first, stop)` are any. Mixtures and growing batches count on it.
    """

    epoch: float  # steps in which every row comes once; where rows are of unequal length, `tokens` are all theirs

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        """Rows `first` to `stop` of the batch of this step."""


class RowSize(NamedTuple):
    """How long a row is, as the objective has it."""

    ids: int  # at most
    overlap: int = 0  # of them, those at the end that are only guessed: the next row begins with them
    backward: bool = False  # rows that go on from one another do so from the end of the text

    @property
    def stride(self) -> int:
        """From the start of a row to that of the next."""
        return self.ids - self.overlap


class Cut(Spec):
    """How rows are made. `length`: positions that the network reads of a row; its context by default."""

    length: Size | None = None
    marks: ClassVar[tuple[str, ...]] = ()  # what the store must know about its tokens
    carries: ClassVar[bool] = False  # rows go on where those of the batch before ended
    ragged: ClassVar[bool] = False  # rows differ in length
    fills: ClassVar[bool] = False  # a batch has as many rows as fill it: their number differs
    mixes: ClassVar[bool] = True  # rows of several stores can stand beside each other
    texts: ClassVar[int] = 1  # in a row
    whole_batches: ClassVar[bool] = False  # a batch is made as a whole: it can neither be mixed nor grow
    _size: RowSize | None = PrivateAttr(None)
    _carried: tuple[str, ...] = PrivateAttr(())

    def sized(self, length: int, size: RowSize, carried: tuple[str, ...] = ()) -> Self:
        """The same cut for rows of this many positions, which are this many ids and carry these marks."""
        made = self.model_copy(update={"length": length})
        made._size, made._carried = size, carried
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


class ShuffledCut(Cut):
    """Rows in random order. `copies`: as many epochs are drawn, masks and pairs with them, and then repeated; 0: all are new."""

    copies: int = Field(default=0, ge=0)


class Windows(ShuffledCut):
    """Stretches of `length` tokens that together cover the text once per epoch, in random order.

    The text is taken as a ring that starts at another place each epoch, so the cuts fall elsewhere.
    """

    kind: Literal["windows"] = "windows"

    def over(self, store: TokenStore, batch_size: int, seed: int) -> WindowCutter:
        self.needs(store, self.size().ids, f"one window of {self.length} tokens")
        return WindowCutter(store, self, batch_size, seed)


class WindowCutter(Shuffled):
    def __init__(self, store: TokenStore, cut: Windows, batch_size: int, seed: int):
        self.store, self.size, self.marks = store, cut.size(), cut._carried
        super().__init__((store.tokens - self.size.overlap) // self.size.stride, batch_size, seed, cut.copies)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def _row(self, number: int, epoch: int, index: int) -> Row:
        total = self.store.tokens
        start = (number_of("ring", self.seed, epoch) + index * self.size.stride) % total
        stop = start + self.size.ids

        def around(read: Callable[[int, int], np.ndarray]) -> np.ndarray:
            return read(start, stop) if stop <= total else np.concatenate([read(start, total), read(0, stop - total)])

        marks = {name: around(partial(self.store.read_mark, name)) for name in self.marks}
        return Row(around(self.store.read), number, self.seed, marks=marks)


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
        done = step % self.steps
        at = (self.steps - 1 - done if self.size.backward else done) * self.size.stride
        return [
            Row(
                self.store.read(lane * self.column + at, lane * self.column + at + self.size.ids),
                step * self.batch_size + lane,
                self.seed,
                continues=done > 0,
            )
            for lane in range(first, stop)
        ]


class Runs(Cut):
    """The whole text in order, once per epoch, in runs of `length` tokens: for models that count."""

    kind: Literal["runs"] = "runs"
    length: Size | None = 65536

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


class Documents(ShuffledCut):
    """One document a row, in random order; a longer one becomes several rows."""

    kind: Literal["documents"] = "documents"
    ragged: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> DocumentCutter:
        self.needs(store, 2, "one document")
        return DocumentCutter(store, self, batch_size, seed)


class DocumentCutter(Shuffled):
    def __init__(self, store: TokenStore, cut: Documents, batch_size: int, seed: int):
        ends = np.asarray(store.ends, np.int64)
        self.starts = np.concatenate([[0], ends[:-1]])
        self.ends, self.store, self.size, self.marks = ends, store, cut.size(), cut._carried
        self.pieces = np.cumsum(np.maximum(1, -(-(ends - self.starts) // self.size.stride)))
        self.tokens = store.tokens
        super().__init__(int(self.pieces[-1]), batch_size, seed, cut.copies)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(number, index) for number, _, index in self.places(step, first, stop)]

    def _row(self, number: int, index: int) -> Row:
        document = int(np.searchsorted(self.pieces, index, side="right"))
        start, stop = self._span(index, document)
        marks = {name: self.store.read_mark(name, max(start, 0), stop) for name in self.marks}
        ids = self.store.read(max(start, 0), stop)
        if start < 0:
            ids = np.concatenate([[self.store.tokenizer.special("[end]")] * -start, ids])
        return Row(ids, number, self.seed, document=document, marks=marks)

    def _span(self, index: int, document: int) -> tuple[int, int]:
        """Below 0: before the first token of all, where an [end] might stand."""
        before = int(self.pieces[document - 1]) if document else 0
        start = int(self.starts[document]) + (index - before) * self.size.stride
        stop = min(start + self.size.stride, int(self.ends[document]))
        return start - self.size.overlap, stop  # context; at a start, the [end] before it


def describe(cutter: Cutter, tokens: int, documents: int) -> str:
    return f"{thousands(tokens)} tokens in {thousands(documents)} documents, {cutter.epoch:,.1f} steps per epoch"
