"""The tokenizer's loops over pages of UTF-8: byte-level BPE with GPT-2's split, words counted, marks found (tokenize.c).

No torch here. Where the kernels are off or there is no compiler, the libraries and Python answer, several times slower.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from foreword.kernels import build

SOURCE = Path(__file__).with_name("tokenize.c")
SIGNATURES = {
    "unseen": "pllp>l",
    "learn": "pppl>p",
    "forget": "p",
    "encode": "ppplpp>l",
    "count_words": "pplpp",
    "find_marks": "plpiip",
    "carry_marks": "pplpppp",
}


@cache
def library() -> ctypes.CDLL | None:
    return build.library(
        SOURCE, SIGNATURES, "text is encoded by the libraries alone, several times slower", build.ONE_THREAD
    )


def address(array: np.ndarray) -> int:
    assert array.flags.c_contiguous
    return array.ctypes.data
