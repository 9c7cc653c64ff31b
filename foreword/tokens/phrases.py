"""Phrases learned from text: neighbouring words that meet far more often than chance would have it (normalised PMI).

Bouma 2009: npmi(a, b) = ln(p(a b) / (p(a) p(b))) / -ln p(a b), which is 1 for words never seen apart and 0 for strangers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from foreword.tokens.segmenters import Segmenter

LONGEST = 4  # words of a phrase
_WORD = re.compile(r"\w")
Pairs = frozenset[tuple[str, str]]


def words_of(text: str, starts: np.ndarray) -> Iterator[tuple[int, str]]:
    """(place, word) of every word; punctuation has the word "", so that no phrase goes across it."""
    places = np.flatnonzero(starts).tolist()
    for at, end in zip(places, [*places[1:], len(text)]):
        word = text[at:end].strip().lower()
        yield at, word if _WORD.search(word) else ""


def learn(texts: Iterable[str], segmenter: Segmenter, threshold: float, minimum: int) -> Pairs:
    """The pairs of words that belong together in these texts."""
    single: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = [word for _, word in words_of(text, segmenter.starts(text))]
        single.update(words)
        pairs.update(zip(words, words[1:]))
    all_words, all_pairs = max(single.total() - single[""], 1), max(pairs.total(), 1)
    return frozenset(
        (a, b)
        for (a, b), times in pairs.items()
        if a
        and b
        and times >= minimum
        and npmi(times / all_pairs, single[a] / all_words, single[b] / all_words) >= threshold
    )


def npmi(both: float, first: float, second: float) -> float:
    """1 where one pair is all there is."""
    return math.log(both / (first * second)) / -math.log(both) if both < 1 else 1.0


def joined(text: str, starts: np.ndarray, pairs: Pairs) -> np.ndarray:
    """The starts of words without those inside a phrase: a chain of pairs, from the left, of at most LONGEST words."""
    found, before, length = starts.copy(), "", 1
    for at, word in words_of(text, starts):
        if word and length < LONGEST and (before, word) in pairs:
            found[at], length = False, length + 1
        else:
            length = 1
        before = word
    return found
