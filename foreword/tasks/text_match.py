"""How near a text is to its references: exact match and F1 as SQuAD and CMRC 2018 have them, ROUGE."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """As SQuAD compares answers: small letters, no punctuation, no articles, single spaces (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(guess: str, references: Sequence[str]) -> float:
    return float(any(normalised(guess) == normalised(reference) for reference in references))


def word_f1(guess: str, references: Sequence[str]) -> float:
    """Overlap in words with the nearest reference."""
    return max(_f1(normalised(guess).split(), normalised(reference).split()) for reference in references)


def _f1(guess: list[str], gold: list[str]) -> float:
    if not guess or not gold:
        return float(guess == gold)
    return f_measure((Counter(guess) & Counter(gold)).total(), len(guess), len(gold))


def f_measure(shared: int, guessed: int, right: int) -> float:
    """The harmonic mean of shared / guessed and shared / right."""
    return 2 * shared / (guessed + right) if guessed + right else 0.0


def same_text(guess: str, references: Sequence[str]) -> float:
    """Equal but for white space around."""
    return float(guess.strip() in {reference.strip() for reference in references})


_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


def rouge(order: int | None) -> Callable[[str, Sequence[str]], float]:
    """ROUGE-n, or ROUGE-L for None: the F-measure with the best reference (Lin 2004), without stemming."""

    def score(guess: str, references: Sequence[str]) -> float:
        return max(_rouge(_words(guess), _words(reference), order) for reference in references)

    return score


def _words(text: str) -> list[str]:
    return [word for word in _NOT_A_WORD.split(text.lower()) if word]


def _rouge(guess: list[str], gold: list[str], order: int | None) -> float:
    if order is None:
        return f_measure(_common(guess, gold), len(guess), len(gold))
    grams = [Counter(zip(*(words[i:] for i in range(order)))) for words in (guess, gold)]
    return f_measure((grams[0] & grams[1]).total(), grams[0].total(), grams[1].total())


def _common(first: list[str], second: list[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        corner = 0
        for i, other in enumerate(second, 1):
            corner, row[i] = row[i], corner + 1 if word == other else max(row[i], row[i - 1])
    return row[-1]


TEXT: dict[str, Callable[[str, Sequence[str]], float]] = {
    "exact": same_text,
    "exact_match": exact_match,
    "f1": word_f1,
    "rouge1": rouge(1),
    "rouge2": rouge(2),
    "rougeL": rouge(None),
}


# --- Chinese answers, as CMRC 2018 compares them (Cui et al. 2019, the published evaluation): by character, no punctuation ----

_LEFT_OUT = set("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_PIECE = re.compile(  # the script's own range of characters
    r"[\u4e00-\u9fa5]|[^\W\u4e00-\u9fa5]+(?:[.,'][^\W\u4e00-\u9fa5]+)*|…+|[^\w\s]"
)


def pieces(answer: str) -> list[str]:
    """Characters of Chinese, words of anything else, without punctuation."""
    return _PIECE.findall(_bare(answer))


def _bare(answer: str) -> str:
    return "".join(sign for sign in answer.lower().strip() if sign not in _LEFT_OUT)


def character_exact(guess: str, references: Sequence[str]) -> float:
    return float(any(_bare(guess) == _bare(reference) for reference in references))


def character_f1(guess: str, references: Sequence[str]) -> float:
    """With the nearest reference: the longest common run of pieces, not their overlap as a bag."""
    return max(_character_f1(guess, reference) for reference in references)


def _character_f1(guess: str, reference: str) -> float:
    if not reference:  # there is no answer; the published rule has no such questions
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
