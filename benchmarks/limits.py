"""What this machine can do at best, measured in the same run as everything that is compared with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from benchmarks.race import Work, seconds_of

SIZES = (1024, 1536, 2048)  # which is quickest depends on the caches
READ = 495_000_000  # bytes: GPT-2's weights in float32, which no cache holds


def best_seconds(work: Work, repeats: int = 5) -> float:
    """The quickest of several tries: the one that others disturbed least."""
    return min(seconds_of(work) for _ in range(repeats))


def matrix_product(size: int = 1536) -> tuple[Work, float]:
    """One float32 product of two square matrices, to take part in a race, and its floating-point operations."""
    a, b, out = torch.randn(size, size), torch.randn(size, size), torch.empty(size, size)
    return lambda: torch.mm(a, b, out=out), 2.0 * size**3


def gemm_flops(sizes: tuple[int, ...] = SIZES) -> float:
    """Floating-point operations a second in the best float32 matrix product, with the threads torch has now."""
    found = []
    for size in sizes:
        work, operations = matrix_product(size)
        work()
        found.append(operations / best_seconds(work))
    return max(found)


def read_bandwidth(size: int = READ) -> float:
    """Bytes a second of reading a buffer too large for any cache, by the quickest of several ways."""
    numbers = torch.ones(size // 4)
    return max(numbers.nbytes / best_seconds(work) for work in ways_to_read(numbers).values())


def ways_to_read(numbers: torch.Tensor) -> dict[str, Work]:
    """Ways to touch every byte once. None is the quickest on all machines."""
    there = numbers.numpy()
    width = min(4096, len(numbers))
    tall = numbers[: len(numbers) // width * width].view(-1, width)
    vector = torch.ones(width)
    threads = ThreadPoolExecutor(torch.get_num_threads())
    shares = np.array_split(there[: len(there) // 2 * 2].view(np.int64), torch.get_num_threads())
    return {
        "sum": numbers.sum,
        "largest": numbers.max,
        "matrix times vector": lambda: tall @ vector,
        "dot product": lambda: numbers @ numbers,  # one buffer: every byte is read once
        "numpy's dot product": lambda: np.dot(there, there),
        "numpy, a thread for each core": lambda: list(threads.map(np.bitwise_or.reduce, shares)),
    }
