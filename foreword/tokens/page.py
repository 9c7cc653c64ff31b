"""Many texts as one page of UTF-8, as the kernels read them (kernels/tokenize.c).

Where there is no compiler, the libraries and Python give the same ids and marks, several times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foreword.basics.messages import Fault
from foreword.kernels.tokenize import address

GAP = b"\n\n"  # stands between texts: no word or sentence goes across
PADDING = bytes(32)  # tokenize.c compares words in steps of so many bytes
LONGEST = 2**31 - 64  # bytes of a page: tokenize.c counts in 31 bits
BLOCK = 256
UNSEEN = 255


@dataclass(frozen=True)
class Page:
    """Texts behind one another, with a gap after each."""

    texts: list[str]
    content: bytes  # UTF-8
    spans: np.ndarray  # [texts, 2]: the first byte of each and one past its last

    @staticmethod
    def of(texts: list[str]) -> Page:
        parts = [utf8(text) for text in texts]
        sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        ends = np.cumsum(sizes + len(GAP)) - len(GAP)
        return Page(texts, GAP.join([*parts, PADDING]), np.stack([ends - sizes, ends], 1))

    @property
    def size(self) -> int:
        """Bytes without the padding."""
        return len(self.content) - len(PADDING)

    @cached_property
    def sizes(self) -> np.ndarray:
        return self.spans[:, 1] - self.spans[:, 0]

    def letters(self) -> np.ndarray:
        """The bytes of all texts behind one another, without the gaps."""
        every = np.frombuffer(self.content, np.uint8, self.size)
        return np.delete(every, (self.spans[:, 1, None] + np.arange(len(GAP))).ravel())

    @cached_property
    def plain(self) -> bool:
        return self.content.isascii()


class CharacterTable:
    """A byte for every character there is, filled in by blocks as characters are met."""

    def __init__(self, describe: Callable[[str], Sequence[int]]):
        self.describe = describe
        self.content = np.full(0x110000, UNSEEN, np.uint8)
        self._fill(0)

    def covering(self, page: Page, kernels: CDLL) -> np.ndarray:
        """The table, which now knows every character of the page."""
        at = -1 if page.plain else 0
        while at >= 0 and (at := kernels.unseen(page.content, at, page.size, address(self.content))) >= 0:
            self._fill(ord(page.content[at : at + 4].decode("utf-8", "ignore")[0]) // BLOCK)
        return self.content

    def _fill(self, block: int) -> None:
        first = block * BLOCK
        if not 0xD800 <= first < 0xE000:  # halves of pairs are no characters
            self.content[first : first + BLOCK] = self.describe("".join(map(chr, range(first, first + BLOCK))))


def utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise Fault(
            f"character {error.start} of the text ({code}) is half of a surrogate pair, which is not valid Unicode.",
            "Remove it, or repair the file it comes from.",
        ) from error
