"""Probabilities of n-grams in few bits: each is rounded down to one of 2^bits values of its order, dense where most are.

What rounding takes away, the back-off weights give to unseen tokens: they are computed anew, so that all still sums to one.
KenLM rounds both to means instead, and its sums are only nearly one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foreword.basics.columns import Column
from foreword.basics.progress import say
from foreword.counts.estimation import Tables

SAMPLED = 1 << 20  # probabilities that the values are chosen by


class Coded:
    """An array whose numbers are few: which of `values` each is."""

    def __init__(self, codes: np.ndarray, values: np.ndarray):
        self.codes, self.values = codes, values

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.values[self.codes[index]]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self.values[np.asarray(self.codes)].astype(dtype or self.values.dtype)


def few_values(column: Column, bits: int) -> np.ndarray:
    """2^bits values at most, in order, the least of all among them; between two neighbours lie about as many numbers."""
    step, least, some = max(1, len(column) // SAMPLED), np.inf, [np.zeros(0)]
    for rows in column.scratch.slices(len(column)):
        part = column[rows]
        least = min(least, float(part.min()))
        some.append(part[::step].copy())  # not a view of all of it
    sample = np.sort(np.concatenate(some))
    if not len(sample):
        return np.zeros(1)
    return np.unique(np.append(least, sample[np.arange(1, 2**bits) * len(sample) // 2**bits]))


def rounded_down(tables: Tables, bits: int) -> Tables:
    """The same tables with few different probabilities of each length but the first. The back-off weights no longer fit."""
    found = Tables(tables.probability[:1], tables.back_off, tables.keys)
    for column in tables.probability[1:]:
        values, rounded = few_values(column, bits), column.scratch.column(float)
        for rows in column.scratch.slices(len(column)):
            rounded.append(values[np.searchsorted(values, column[rows], "right") - 1])
        found.probability.append(rounded)
    return found


def coded(probability: np.ndarray, bits: int, length: int) -> np.ndarray | Coded:
    """As codes; as it is where a history knows every token, and its own had to be scaled up to sum to one."""
    values = np.unique(probability)
    if len(values) > 2**bits:
        say(f"the probabilities of order {length} stay exact: some histories have seen every token.")
        return probability
    return Coded(np.searchsorted(values, probability).astype(np.uint8 if bits <= 8 else np.uint16), values)
