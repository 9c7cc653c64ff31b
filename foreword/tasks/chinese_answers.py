"""How CMRC 2018 compares answers (Cui et al. 2019, the published evaluation): by character, punctuation left out.

Latin words and numbers count as one piece. F1 takes the longest common run of pieces, not their overlap as a bag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from foreword.tasks.metrics import f_measure

_LEFT_OUT = set("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_PIECE = re.compile(r"[\u4e00-\u9fa5]|[^\W\u4e00-\u9fa5]+(?:[.,'][^\W\u4e00-\u9fa5]+)*|…+|[^\w\s]")


def pieces(answer: str) -> list[str]:
    """Characters of Chinese, words of anything else, without punctuation."""
    return _PIECE.findall(_bare(answer))


def _bare(answer: str) -> str:
    return "".join(sign for sign in answer.lower().strip() if sign not in _LEFT_OUT)


def character_exact(guess: str, references: Sequence[str]) -> float:
    return float(any(_bare(guess) == _bare(reference) for reference in references))


def character_f1(guess: str, references: Sequence[str]) -> float:
    """With the nearest reference."""
    return max(_f1(guess, reference) for reference in references)


def _f1(guess: str, reference: str) -> float:
    if not reference:                  # there is no answer; the published rule has no such questions
        return float(not guess)
    said, gold = pieces(guess), pieces(reference)
    return f_measure(_longest_run(said, gold), len(said), len(gold))


def _longest_run(first: list[str], second: list[str]) -> int:
    """The length of the longest run of pieces that stands in both."""
    best, row = 0, [0] * (len(second) + 1)
    for piece in first:
        row = [0, *(row[i] + 1 if piece == other else 0 for i, other in enumerate(second))]
        best = max(best, max(row))
    return best
