"""Characters that a tokenizer reads as others, one for one: kept with it, so that whoever uses it later reads the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal

from foreword.basics.packages import needed
from foreword.text.words import HAN_RANGES

Conversion = Literal["simplified", "half_width"]


def table(names: Sequence[Conversion]) -> dict[str, str]:
    """Which character is read as which other."""
    found: dict[str, str] = {}
    for name in names:
        found |= simplified() if name == "simplified" else half_width()
    return found


def simplified() -> dict[str, str]:
    """Traditional Chinese characters as simplified ones, by OpenCC: character by character, without its rules for phrases."""
    opencc = needed("opencc", "chinese", "traditional characters are converted by")
    each = "".join(map(chr, chain(*HAN_RANGES)))
    other = opencc.OpenCC("t2s").convert("\n".join(each)).split("\n")
    return {mine: theirs for mine, theirs in zip(each, other) if mine != theirs and len(theirs) == 1}


def half_width() -> dict[str, str]:
    """Full-width Latin letters, digits and marks, and the wide space, as ASCII has them."""
    return {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " "}
