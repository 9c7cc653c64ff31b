"""A small text of ids whose documents have a begin and an end, and a text to hold out."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.seeds import chance
from foreword.tokens.vocabulary import Vocabulary


def text(seed: int, documents: int, letters: int, end: int) -> np.ndarray:
    """Documents of a Zipf-like chain: repeating enough that every order has n-grams seen once, twice and often."""
    rng = chance(seed)
    out: list[int] = []
    for _ in range(documents):
        token = int(rng.integers(letters))
        for _ in range(int(rng.integers(0, 25))):
            out.append(token)
            token = min(int(rng.geometric(0.35)) - 1 + token // 3, letters - 1)
        out.append(end)
    return np.array(out)


@pytest.fixture
def vocabulary() -> Vocabulary:
    """Tokens 0 to 11, of which 10 and 11 never occur; [pad] is 12, [end] 13, [mask] 14."""
    return Vocabulary(size=15, end=13, silent=(12, 14))


@pytest.fixture
def train() -> np.ndarray:
    return text(1, 60, 10, 13)


@pytest.fixture
def held_out() -> np.ndarray:
    return text(2, 15, 10, 13)
