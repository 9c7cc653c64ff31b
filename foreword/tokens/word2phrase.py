"""word2phrase: words that stand together far more often than their counts would have it become one (Mikolov et al. 2013, eq. 6).

A phrase is words with one space between them, as it stands in the text, so that a regular expression finds it again and the
tokenizer is one file as before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W_]")


def find_phrases(texts: Sequence[str], apart: str, passes: int, threshold: float, discount: int) -> list[str]:
    """Passes over the text, each joining what the one before left: (count of both - discount) x words / (count x count)."""
    found: dict[str, None] = {}
    for _ in range(passes):
        one, both = count_pairs(texts, pattern(found, apart))
        total = sum(one.values())
        new = {
            f"{left} {right}": None
            for (left, right), times in both.items()
            if (times - discount) * total > threshold * one[left] * one[right]
        }
        if not new.keys() - found.keys():
            break
        found |= new
    return sorted(found)


def count_pairs(texts: Iterable[str], pieces: re.Pattern[str]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """How often each piece occurs, and each pair of words with one space between them."""
    one: Counter[str] = Counter()
    both: Counter[tuple[str, str]] = Counter()
    for text in texts:
        before, end = "", -1
        for match in pieces.finditer(text):
            piece = match.group()
            word = _WORD.match(piece) is not None  # marks join nothing
            one[piece] += 1
            if before and word and match.start() == end + 1 and text[end] == " ":
                both[before, piece] += 1
            before, end = piece if word else "", match.end()
    return one, both


def pattern(phrases: Iterable[str], apart: str) -> re.Pattern[str]:
    return re.compile(with_phrases(phrases, apart))


def with_phrases(phrases: Iterable[str], apart: str) -> str:
    """A regular expression that finds the longest phrase that begins at a word, else what `apart` finds."""
    tree: dict[str, dict] = {}
    for phrase in phrases:
        branch = tree
        for character in phrase:
            branch = branch.setdefault(character, {})
        branch[""] = {}
    # neither inside a word nor before the rest of one ("don't" is one)
    return rf"(?<!\w)(?<!\w['’])(?:{_alternatives(tree)})(?!\w|['’]\w)|{apart}" if tree else apart


def _alternatives(branch: dict[str, dict]) -> str:
    """The strings of a tree of characters: one after the other, longer ones first."""
    parts = []
    for character in sorted(branch, reverse=True):  # the end of a phrase, "", comes last
        string, below = re.escape(character), branch[character]
        while len(below) == 1 and "" not in below:
            (character,) = below
            string, below = string + re.escape(character), below[character]
        rest = _alternatives(below) if below and set(below) != {""} else ""
        parts.append(f"{string}(?:{rest})" if rest else string)
    return "|".join(parts)
