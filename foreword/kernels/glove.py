"""GloVe's inner loop over some entries of a table, in C (glove.c) and in numpy, which says what it does. No torch here.

AdaGrad as the original program has it: squares of (rate times gradient) are added up, beginning with 1.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np

from foreword.kernels import build

SOURCE = Path(__file__).with_name("glove.c")


@cache
def library() -> ctypes.CDLL | None:
    return build.library(SOURCE, {"fit": "p"}, "GloVe is learned by numpy alone, a hundred times slower")


@dataclass
class Parameters:
    """What is fitted, and the squares that were added up for it. Rows as `padded` makes them, squares ones to their end."""

    own: np.ndarray  # [words, width]
    outputs: np.ndarray
    own_squares: np.ndarray
    output_squares: np.ndarray
    biases: np.ndarray  # [words]
    output_biases: np.ndarray
    bias_squares: np.ndarray
    output_bias_squares: np.ndarray


@dataclass(frozen=True)
class Entries:
    """Some of a table: word, other word, the logarithm of their count, and how much it matters."""

    words: np.ndarray  # int32
    others: np.ndarray  # int32
    logs: np.ndarray  # float32
    weights: np.ndarray  # float32


class _GlovePass(ctypes.Structure):
    _fields_ = [
        *((field.name, ctypes.c_void_p) for field in (*fields(Parameters), *fields(Entries))),
        ("cost", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("width", "entries", "threads")),
        ("rate", ctypes.c_float),
    ]


def fit(what: Parameters, entries: Entries, rate: float, threads: int = 1) -> float:
    """Go through the entries once. The sum of what they cost: half of weight times distance squared."""
    kernels = library()
    if kernels is None:
        return fit_in_numpy(what, entries, rate)
    cost = np.zeros(threads)
    arrays = [getattr(part, field.name) for part in (what, entries) for field in fields(part)]
    given = _GlovePass(
        *(array.ctypes.data for array in (*arrays, cost)),
        what.own.strides[0] // 4,
        len(entries.words),
        threads,
        rate,
    )
    kernels.fit(ctypes.addressof(given))
    return float(cost.sum())


def fit_in_numpy(what: Parameters, entries: Entries, rate: float) -> float:
    """The same, entry by entry; in float64 if the parameters are."""
    cost, width = 0.0, what.own.shape[1]
    for i, j, log, weight in zip(entries.words, entries.others, entries.logs, entries.weights):
        own, output = what.own[i], what.outputs[j]
        apart = own @ output + what.biases[i] + what.output_biases[j] - log
        step = rate * weight * apart
        cost += 0.5 * float(weight * apart * apart)
        changes = step * output, step * own
        for value, square, change in (
            (own, what.own_squares[i, :width], changes[0]),
            (output, what.output_squares[j, :width], changes[1]),
        ):
            value -= change / np.sqrt(square)
            square += change * change
        for value, square, at in (
            (what.biases, what.bias_squares, i),
            (what.output_biases, what.output_bias_squares, j),
        ):
            value[at] -= step / np.sqrt(square[at])
            square[at] += step * step
    return cost
