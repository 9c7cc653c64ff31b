"""Segmenters: where words begin in a text. A user's own is a class of one method, named by its dotted path."""

from __future__ import annotations

import re
from typing import Protocol

import numpy as np

from foreword.basics.packages import needed
from foreword.basics.registry import Registry
from foreword.text.words import HAN
from foreword.tokens.marks import word_starts

SEGMENTERS = Registry(
    "segmenter",
    {
        "plain": "foreword.tokens.segmenters:Plain",
        "jieba": "foreword.tokens.segmenters:Jieba",
        "spaces": "foreword.tokens.segmenters:Spaces",
    },
)
NAMES = ("nr", "ns", "nt")  # jieba's tags of people, places and organisations; longer ones ("nrt") belong to them
_HAN = re.compile(f"[{HAN}]")


class Segmenter(Protocol):
    def starts(self, text: str) -> np.ndarray:
        """[characters] bool: where a word begins. White space is part of no word; what is said of it does not count."""


class Plain:
    """As BERT splits text: runs of letters and digits, single punctuation marks, single Chinese characters."""

    def starts(self, text: str) -> np.ndarray:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        found = np.zeros(len(text), bool)
        found[word_starts(codes)] = True
        return found


class Spaces:
    """Text that was segmented before: a word is what stands between white space."""

    def starts(self, text: str) -> np.ndarray:
        white = white_space(text)
        return ~white & np.concatenate([[True], white[:-1]])[: len(text)]


class Jieba:
    """Chinese by jieba's dictionary, anything else as `Plain` has it; "T恤" and "卡拉OK" are words too."""

    def __init__(self) -> None:
        self.jieba = needed("jieba", "chinese", "Chinese is cut into words by")
        self.jieba.setLogLevel("ERROR")

    def starts(self, text: str) -> np.ndarray:
        return self._joined(text, [len(word) for word in self.jieba.lcut(text)])

    def names(self, text: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """Where words begin, and the people, places and organisations among them: (first character, one past the last)."""
        tagger = needed("jieba.posseg", "chinese", "names in Chinese are found by")
        words = [(pair.word, pair.flag) for pair in tagger.cut(text)]
        lengths = [len(word) for word, _ in words]
        ends = np.cumsum(lengths).tolist()
        found = [(end - len(word), end) for (word, flag), end in zip(words, ends) if flag[:2] in NAMES]
        return self._joined(text, lengths), found

    def _joined(self, text: str, lengths: list[int]) -> np.ndarray:
        plain, words = Plain().starts(text), np.zeros(len(text) + 1, bool)
        words[np.cumsum([0, *lengths])] = True
        words = words[: len(text)]
        han = np.zeros(len(text), bool)
        han[[match.start() for match in _HAN.finditer(text)]] = True
        before = np.concatenate([[False], han[:-1]])[: len(text)]
        return np.where(han, words, plain & (words | ~before))


def white_space(text: str) -> np.ndarray:
    return np.fromiter(map(str.isspace, text), bool, len(text))
