"""What this machine can do at best, measured in the same run as everything that is compared with it."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def best_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The quickest of several tries: the one that others disturbed least."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def gemm_flops(size: int = 1536) -> float:
    """Floating-point operations a second in one large float32 matrix product."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / best_seconds(lambda: a @ b)
