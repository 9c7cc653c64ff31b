"""A sparse matrix times a dense one, in C (sparse.c) and in numpy, which says what it does. No torch here."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from foreword.basics.cores import cores
from foreword.kernels import build

SOURCE = Path(__file__).with_name("sparse.c")
AT_ONCE = 1 << 18  # entries that numpy multiplies at a time


@cache
def library() -> ctypes.CDLL | None:
    return build.library(SOURCE, {"multiply": "p"}, "sparse products are made by numpy, several times slower")


class _Product(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("starts", "columns", "values", "dense", "found")),
        *((name, ctypes.c_int64) for name in ("rows", "width", "threads")),
    ]


def multiply(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """[rows, width] float32. starts int64 [rows + 1], columns int32, values float32, dense float32 [columns, width]."""
    kernels = library()
    if kernels is None:
        return multiply_in_numpy(starts, columns, values, dense)
    given = [np.ascontiguousarray(a, t) for a, t in ((starts, "i8"), (columns, "i4"), (values, "f4"), (dense, "f4"))]
    found = np.zeros((len(starts) - 1, dense.shape[1]), np.float32)
    product = _Product(*(array.ctypes.data for array in (*given, found)), *found.shape, cores())
    kernels.multiply(ctypes.addressof(product))
    return found


def multiply_in_numpy(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """The same: some rows at a time, the entries of each added up."""
    found = np.zeros((len(starts) - 1, dense.shape[1]), np.float32)
    row = 0
    while row < len(found):
        last = max(row + 1, int(np.searchsorted(starts, starts[row] + AT_ONCE, "right")) - 1)
        part = slice(starts[row], starts[last])
        filled = np.flatnonzero(np.diff(starts[row : last + 1]))
        if len(filled):
            scaled = values[part, None] * dense[columns[part]]
            found[row + filled] = np.add.reduceat(scaled, starts[row + filled] - starts[row])
        row = last
    return found
