"""Text that resembles a sample is found; text is not chosen for its length or for common words."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.counts.selection import resemblance

SHIPS = [
    "the",
    "ship",
    "sailed",
    "from",
    "the",
    "harbour",
    "with",
    "a",
    "crew",
    "of",
    "sailors",
    "and",
    "sails",
    "before",
    "the",
    "wind",
]
BREAD = [
    "the",
    "baker",
    "mixed",
    "flour",
    "with",
    "water",
    "and",
    "salt",
    "to",
    "bake",
    "a",
    "loaf",
    "of",
    "bread",
    "in",
    "the",
    "oven",
]


def texts(words: list[str], count: int, seed: int, least: int = 6, most: int = 20) -> list[str]:
    """Stretches of a walk through the words, mostly in their order."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        at, line = int(rng.integers(len(words))), []
        for _ in range(int(rng.integers(least, most))):
            line.append(words[at])
            at = int(rng.integers(len(words))) if rng.random() < 0.2 else (at + 1) % len(words)
        found.append(" ".join(line))
    return found


def test_text_like_the_sample_comes_first():
    sample, pool = texts(SHIPS, 40, 1), texts(SHIPS, 50, 2) + texts(BREAD, 450, 3)
    scores = resemblance(sample, pool)
    assert set(np.argsort(-scores)[:50].tolist()) == set(range(50))


def test_a_sample_of_the_text_itself_prefers_nothing():
    """The control: the sample is drawn from the pool, so nothing in the pool is more alike than the rest."""
    sample, pool = texts(SHIPS, 20, 1) + texts(BREAD, 180, 4), texts(SHIPS, 50, 2) + texts(BREAD, 450, 3)
    scores = resemblance(sample, pool)
    first = set(np.argsort(-scores)[:50].tolist())
    assert len(first & set(range(50))) < 30
    other = resemblance(texts(SHIPS, 40, 1), pool)
    assert abs(scores[:50].mean() - scores[50:].mean()) < 0.2 * abs(other[:50].mean() - other[50:].mean())


def test_length_alone_is_no_resemblance():
    sample = texts(SHIPS, 60, 1)
    short, long = texts(SHIPS, 60, 2, 6, 8), texts(SHIPS, 60, 3, 40, 60)
    scores = resemblance(sample, [*short, *long, *texts(BREAD, 400, 5)])
    assert scores[:120].min() > scores[120:].max()


def test_the_same_seed_gives_the_same_scores():
    sample, pool = texts(SHIPS, 10, 1), texts(BREAD, 50, 3)
    assert np.array_equal(resemblance(sample, pool, 1), resemblance(sample, pool, 1))


def test_an_empty_sample_is_said():
    with pytest.raises(Fault, match="the sample is empty"):
        resemblance(["  "], ["a b"])
