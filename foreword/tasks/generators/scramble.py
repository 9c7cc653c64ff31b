"""Words with their letters moved, to be put right: GPT-3's five kinds (Brown et al. 2020, 3.9.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pydoc_data.topics import topics
from typing import Literal

import numpy as np

from foreword.basics.seeds import chance, number_of
from foreword.tasks.files import Generated, SearchPath, text_of
from foreword.tasks.template import Row

COMMONEST = 10_000  # the paper's: the most frequent words,
_WORD = re.compile(r"\b[a-z]{5,14}\b")  # longer than four and shorter than fifteen letters
SIGNS = ".,!?;:'-/ "


def _cycled(word: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(1, len(word)))
    return word[at:] + word[:at]


def _shuffled(word: str, rng: np.random.Generator) -> str:
    return "".join(word[i] for i in rng.permutation(len(word)))


def _keeping(kept: int) -> Callable[[str, np.random.Generator], str]:
    """All letters but the first and last `kept` in another order."""

    def draw(word: str, rng: np.random.Generator) -> str:
        return word[:kept] + _shuffled(word[kept : len(word) - kept], rng) + word[len(word) - kept :]

    return draw


def _inserted(word: str, rng: np.random.Generator) -> str:
    """A sign or a space after every letter but the last."""
    return "".join(letter + SIGNS[int(rng.integers(len(SIGNS)))] for letter in word[:-1]) + word[-1]


SCRAMBLES: dict[str, Callable[[str, np.random.Generator], str]] = {
    "cycle_letters": _cycled,
    "anagrams_all_but_ends": _keeping(1),
    "anagrams_all_but_two": _keeping(2),
    "random_insertion": _inserted,
    "reversed": lambda word, rng: word[::-1],
}


class Scramble(Generated):
    """The commonest words of a text (of Python's own help if none is given), each scrambled in one way."""

    kind: Literal["scramble"] = "scramble"
    way: Literal["cycle_letters", "anagrams_all_but_ends", "anagrams_all_but_two", "random_insertion", "reversed"]
    words: str = ""  # a text file

    def drawn(self, where: SearchPath) -> Sequence[Row]:
        text = text_of(where.find(self.words)) if self.words else "\n".join(topics.values())
        counts = Counter(_WORD.findall(text))
        common = sorted(counts, key=lambda word: (-counts[word], word))[:COMMONEST]
        found = []
        for number in chance(self.seed, number_of("scramble")).permutation(len(common)):
            rng = chance(self.seed, number_of(self.way, common[number]))
            if made := self._changed(common[number], rng):
                found.append({"scrambled": made, "word": common[number]})
        return found

    def _changed(self, word: str, rng: np.random.Generator) -> str:
        """Scrambled so that it shows; nothing for a word that stays what it is (a palindrome turned round)."""
        return next((made for _ in range(20) if (made := SCRAMBLES[self.way](word, rng)) != word), "")
