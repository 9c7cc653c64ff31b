"""Train/test overlap: how much of a test text stands in the training text, word for word.

GPT-2 (Radford et al. 2019, section 4): the share of a set's 8-grams that a Bloom filter of the training text's 8-grams knows,
text being lower-cased alphanumeric words with single spaces. The filter may take what is new for known, at a rate that is
stated (1e-8 there and here); it never takes what is known for new.

GPT-3 (Brown et al. 2020, appendix C): an example is dirty if any of its N-grams is in the training text. N is the 5th
percentile of the set's examples' lengths in words, at least 8 and at most 13.

Punctuation parts words ("don't" is two). Where no spaces part words (Chinese, Japanese), each character is one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.files import write_atomically
from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.text.dedup import word_hashes
from foreword.text.words import HAN

RATE = 1e-8
SHARE_OF = 8  # words in a row whose share is told (GPT-2)
FEWEST, MOST = 8, 13  # between these lies the N that makes an example dirty (GPT-3)
_SINGLE = f"{HAN}\u3040-\u30ff"  # kana too
_WORD = re.compile(f"[{_SINGLE}]|[^\\W_{_SINGLE}]+")
_MIX = np.uint64(0x9E3779B97F4A7C15)
Texts = Callable[[], Iterable[str]]  # gives the same texts each time it is called


def words(text: str) -> list[str]:
    """Lower-cased and alphanumeric."""
    return _WORD.findall(text.lower())


def word_places(text: str) -> list[tuple[int, int]]:
    """Where each of `words` stands. (Lower-casing a few letters, as İ, makes two of one: then places are a little off.)"""
    return [found.span() for found in _WORD.finditer(text.lower())]


def codes(text: str) -> np.ndarray:
    """A 64-bit hash of every word, the same in every process."""
    return word_hashes(" ".join(words(text)).encode("utf-8", "surrogatepass"))[0]


def runs(codes: np.ndarray, size: int) -> np.ndarray:
    """A 64-bit hash of every `size` words in a row: [words - size + 1]."""
    count = max(0, len(codes) - size + 1)
    mixed = np.zeros(count, np.uint64)
    for place in range(size):
        mixed += codes[place : place + count]
        mixed *= _MIX
        mixed ^= mixed >> np.uint64(29)
    return mixed


class NgramFilter:
    """A Bloom filter of the runs of a training text."""

    def __init__(self, size: int, filter: Any):
        self.size, self.filter = size, filter

    @staticmethod
    def empty(size: int, expected: int, rate: float = RATE) -> NgramFilter:
        # the runs are hashes already; Python's own hash of text would change from process to process
        return NgramFilter(size, _bloom()(max(1, expected), rate, operator.index))

    @staticmethod
    def load(size: int, path: Path) -> NgramFilter:
        return NgramFilter(size, _bloom().load(str(path), operator.index))

    def save(self, path: Path) -> None:
        write_atomically(path, lambda partial: self.filter.save(str(partial)))

    def add(self, codes: np.ndarray) -> None:
        """The words of one text."""
        self.filter.update(runs(codes, self.size).tolist())

    def known(self, text: str) -> np.ndarray:
        """Of every run of the text whether the training text has it: [words - size + 1] bool."""
        known = self.filter.__contains__
        return np.fromiter(map(known, runs(codes(text), self.size).tolist()), bool)


def _bloom() -> Any:
    return needed("rbloom", "data", "overlap needs").Bloom


def seen_in(texts: Texts, sizes: Iterable[int], rate: float = RATE) -> dict[int, NgramFilter]:
    """Filters of a training text for runs of some sizes. It is read twice: how many runs there are decides how large they are."""
    if not 0 < rate < 1:
        raise Fault(f"a false-positive rate of {rate} is not between 0 and 1.")
    lengths = [len(words(text)) for text in texts()]
    found = {
        size: NgramFilter.empty(size, sum(max(0, length - size + 1) for length in lengths), rate) for size in set(sizes)
    }
    for text in texts():
        there = codes(text)
        for seen in found.values():
            seen.add(there)
    return found


def size_for(examples: Sequence[str]) -> int:
    """GPT-3's N for these examples."""
    return int(np.clip(np.percentile([len(words(example)) for example in examples], 5), FEWEST, MOST))


@dataclass(frozen=True)
class Overlap:
    """What of some examples stands in a training text."""

    size: int  # N: this many words in a row make an example dirty
    dirty: list[bool]  # one per example
    short: int  # examples of fewer words, which cannot be told and count as clean
    runs: int  # 8-grams of all examples
    known: int  # ... that the training text has

    @property
    def share(self) -> float:
        """GPT-2's measure."""
        return self.known / max(self.runs, 1)


def overlap(examples: Sequence[str], seen: Mapping[int, NgramFilter]) -> Overlap:
    """`seen` has filters for 8 words and for `size_for(examples)`."""
    size = size_for(examples)
    shares = [seen[SHARE_OF].known(example) for example in examples]
    dirty = [bool(seen[size].known(example).any()) for example in examples]
    return Overlap(
        size,
        dirty,
        sum(len(words(example)) < size for example in examples),
        sum(map(len, shares)),
        int(sum(share.sum() for share in shares)),
    )


def passages(text: str, seen: NgramFilter) -> list[str]:
    """The stretches of a text that the training text has, in words, longest first."""
    there, known, found = words(text), seen.known(text), []
    at = 0
    while at < len(known):
        end = at
        while end < len(known) and known[end]:
            end += 1
        if end > at:
            found.append(" ".join(there[at : end + seen.size - 1]))
        at = end + 1
    return sorted(found, key=len, reverse=True)
