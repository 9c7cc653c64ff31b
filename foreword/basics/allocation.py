"""What the C library does with memory that is freed: keeps it for the next request, or gives it back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress

TRIM, THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h


def give_back_memory(at_least: int = 4 * 2**20) -> None:
    """Large arrays go back to the system when they are done with (glibc would keep them, in pieces: a tenth more)."""
    _tell_malloc(THRESHOLD, at_least)


def keep_memory() -> None:
    """What the tensors of one step leave free stays with the process: the next step would only ask for it again."""
    _tell_malloc(THRESHOLD, 32 * 2**20)  # the most that glibc allows
    _tell_malloc(TRIM, 2**31 - 1)


def _tell_malloc(parameter: int, value: int) -> None:
    with suppress(OSError, AttributeError):  # another system than one with glibc
        ctypes.CDLL(None).mallopt(parameter, value)
