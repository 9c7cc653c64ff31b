"""Words of any language, and one definition of a Chinese character, each of which is a word by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

# the ideographs that BERT's tokenizer sets apart, without kana
HAN_RANGES = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x31350))
HAN = "".join(f"{chr(some[0])}-{chr(some[-1])}" for some in HAN_RANGES)  # to stand inside [...] of a regular expression
MOSTLY = 0.2  # of the letters
_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['’][^\W_{HAN}]+)*")


def words(text: str) -> list[str]:
    """Lower-case words; each Chinese character is one."""
    return [word.lower() for word in _WORD.findall(text)]


def has_chinese(text: str) -> bool:
    return _HAN.search(text) is not None


def mostly_chinese(texts: Iterable[str]) -> bool:
    """Whether so much of the letters is Chinese that characters are to be counted, not words."""
    sample = "".join(texts)
    return len(_HAN.findall(sample)) > MOSTLY * max(sum(sign.isalpha() for sign in sample), 1)
