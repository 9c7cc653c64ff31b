"""Characters that a tokenizer reads as others, one for one: kept with it, so that whoever uses it later reads the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from foreword.basics.packages import needed

Conversion = Literal["simplified", "half_width"]
_IDEOGRAPHS = (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000), *range(0xF900, 0xFB00), *range(0x20000, 0x31350))


def table(names: Sequence[Conversion]) -> dict[str, str]:
    """Which character is read as which other."""
    found: dict[str, str] = {}
    for name in names:
        found |= simplified() if name == "simplified" else half_width()
    return found


def simplified() -> dict[str, str]:
    """Traditional Chinese characters as simplified ones, by OpenCC: character by character, without its rules for phrases."""
    opencc = needed("opencc", "chinese", "traditional characters are converted by")
    each = "".join(map(chr, _IDEOGRAPHS))
    other = opencc.OpenCC("t2s").convert("\n".join(each)).split("\n")
    return {mine: theirs for mine, theirs in zip(each, other) if mine != theirs and len(theirs) == 1}


def half_width() -> dict[str, str]:
    """Full-width Latin letters, digits and marks, and the wide space, as ASCII has them."""
    return {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " "}
