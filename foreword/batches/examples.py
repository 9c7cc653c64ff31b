"""Labelled examples as rows: each once per epoch, in a new random order, those of similar length side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.batches.cuts import Cut, Cutter
from foreword.batches.encoded import EncodedExample
from foreword.batches.row import Row
from foreword.batches.shuffled import Bucketed
from foreword.tokens.store import TokenStore


class Examples(Cut):
    """One labelled example a row. `length`: the most tokens of a sequence, specials included."""

    kind: Literal["examples"] = "examples"
    ragged: ClassVar[bool] = True
    keep: Literal["head", "tail", "all"] = "head"  # which end of a text that is too long is read; all: it is refused
    windows: bool = False  # classes of a long text: all of it in windows, and the mean of what they say
    stride: Size | None = None  # tokens from one window to the next; half of what fits by default

    def over(self, store: TokenStore, batch_size: int, seed: int) -> Cutter:
        raise Fault(
            "labelled examples are not cut from a store of text.", "Learn from them:  foreword finetune MODEL TASK"
        )

    def of(self, encoded: Sequence[EncodedExample], batch_size: int, seed: int) -> ExampleCutter:
        return ExampleCutter(encoded, batch_size, seed)


class ExampleCutter(Bucketed):
    def __init__(self, encoded: Sequence[EncodedExample], batch_size: int, seed: int):
        super().__init__(np.asarray([one.length for one in encoded]), batch_size, seed)
        self.encoded = encoded

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        at = step * self.batch_size
        return [row_of(self.encoded[self.place(number)], number, self.seed) for number in range(at + first, at + stop)]


def row_of(one: EncodedExample, number: int = 0, seed: int = 0) -> Row:
    return Row(one.sequences[0].ids, number, seed, example=one)
