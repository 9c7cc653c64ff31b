"""Words that a vocabulary does not have, letter by letter: what makes bits per byte of a word model honest.

A word model charges the same for every unknown word, however long. With the cost of its spelling added, the text is paid for
to the last byte, and the number may stand beside those of models of bytes or pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import WittenBell
from foreword.tokens.vocabulary import Vocabulary

END = 256
ORDER = 6


class Spelling:
    """Bytes of a word given the five before them, and the end of the word; counted over the words that are known, once each."""

    def __init__(self, words: Iterable[str]):
        self.model = SmoothedNGram(order=ORDER, smoothing=WittenBell()).build(Vocabulary(END + 1, END, ()))
        self.model.count(np.concatenate([np.zeros(0, np.int64), *map(_ids, words)]))
        self.model.estimate()

    def nats(self, words: Sequence[str]) -> float:
        """What all letters of these words cost, and their ends."""
        logs = self.model.score([np.append(END, _ids(word)) for word in words], [1] * len(words))
        return -float(sum(one.sum() for one in logs))


def _ids(word: str) -> np.ndarray:
    return np.append(np.frombuffer(word.encode("utf-8", "surrogatepass"), np.uint8), END).astype(np.int64)
