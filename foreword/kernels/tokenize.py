"""The tokenizer's loops over pages of UTF-8: byte-level BPE with GPT-2's split, words counted, marks found (tokenize.c).

No torch here. Where the kernels are off or there is no compiler, the libraries and Python answer, several times slower.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from foreword.kernels import build


def place(array: np.ndarray) -> int:
    """Where the array's numbers lie."""
    assert array.flags.c_contiguous
    return array.ctypes.data


@cache
def compiled() -> Any:
    """The functions of tokenize.c, or None where they cannot be made: said once."""
    library = build.compiled(Path(__file__).with_name("tokenize.c"),
                             "text is encoded by the libraries alone, several times slower", speed=build.ONE_THREAD)
    if library is None:
        return None
    at, number = ctypes.c_void_p, ctypes.c_long
    for name, result, arguments in (
            ("unseen", number, [at, number, number, at]), ("learn", at, [at, at, at, number]), ("forget", None, [at]),
            ("encode", number, [at, at, at, number, at, at]), ("count_words", None, [at, at, number, at, at]),
            ("find_marks", None, [at, number, at, ctypes.c_int, ctypes.c_int, at]),
            ("carry_marks", None, [at, at, number, at, at, at, at])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
