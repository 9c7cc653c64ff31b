"""How much it says that two texts share a word: baselines where the answer is a place in a text are rules about that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from foreword.text.words import HAN

WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")  # a Chinese character is a word
POWERS = (0.0, 0.5, 1.0)  # of the length by which what is shared is divided


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


class InverseDocumentFrequency:
    """How much it says that two texts share a word: log(texts / texts that hold it); of a word never seen, the most."""

    def __init__(self, texts: Iterable[str]):
        every = [set(words(text)) for text in set(texts)]
        held = Counter(word for one in every for word in one)
        self.most = float(np.log(len(every) + 1))
        self.known = {word: float(np.log((len(every) + 1) / (times + 1))) for word, times in held.items()}

    def of(self, word: str) -> float:
        return self.known.get(word, self.most)

    def weight(self, asked: str, answer: str, power: float) -> float:
        """Of the words that an answer shares with what is asked, in all or for each of its own."""
        shared = sum(map(self.of, set(words(asked)) & set(words(answer))))
        return shared / max(len(words(answer)), 1) ** power
