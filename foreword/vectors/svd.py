"""The largest singular values of a sparse matrix, by random projection and a few powers (Halko et al. 2011)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foreword.basics.seeds import chance, number_of

MORE = 10  # directions beyond those that are wanted
POWERS = 4

Product = Callable[[np.ndarray], np.ndarray]


def left_vectors(times: Product, times_transposed: Product, size: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(left singular vectors [size, width], their values [width]) of a square matrix; zeros beyond its own size."""
    some = min(width + MORE, size)
    basis = chance(number_of("svd")).standard_normal((size, some)).astype(np.float32)
    for _ in range(POWERS):
        basis = np.linalg.qr(times(basis))[0]
        basis = np.linalg.qr(times_transposed(basis))[0]
    basis = np.linalg.qr(times(basis))[0]
    left, values, _ = np.linalg.svd(times_transposed(basis).T, full_matrices=False)
    found, most = np.zeros((size, width), np.float32), min(width, some)
    vectors = (basis @ left)[:, :most]
    vectors *= np.where(
        vectors[np.abs(vectors).argmax(0), np.arange(most)] < 0, -1, 1
    )  # a sign that is always the same
    found[:, :most] = vectors
    return found, np.append(values[:most], np.zeros(width - most)).astype(np.float32)
