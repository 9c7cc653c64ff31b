"""Entities in a text: from a gazetteer, from spans that came with the document, or from capital letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from foreword.basics.messages import Fault
from foreword.text.document import Span

_INSIDE = re.compile(r"[^\W_]")  # a letter or digit of a script that is written with spaces
_WITHOUT_SPACES = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f]")
_CAPITALS = re.compile(r"\b[A-Z][\w’'-]*(?: (?:(?:of|the|and|de|van|von) )?[A-Z][\w’'-]*)*")
# words that begin a sentence in capitals without being a name
_FUNCTION = re.compile(
    "(A|An|The|In|On|At|By|For|From|To|Of|And|But|Or|As|If|When|While|After|Before|Since|Although|This|That|These|Those|It|He"
    "|She|They|We|You|I|His|Her|Their|Its|Our|My|There|Here|What|Who|Why|How|Where|Not|No|Some|Many|Most)"
)
_OPENS = re.compile(r"(?:^|[.!?:;\n\"“”(])\s*$")  # what comes before the first word of a sentence


class Gazetteer:
    """A list of names. Where two of them overlap in a text, the longer one is the entity (`resolved`)."""

    def __init__(self, names: Iterable[str]):
        self.names = frozenset(name.strip() for name in names if name.strip())
        lengths: dict[str, set[int]] = {}
        for name in self.names:
            lengths.setdefault(name[0], set()).add(len(name))
        self.lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    @staticmethod
    def read(path: Path) -> Gazetteer:
        """One name a line; what stands behind a tab (a kind, a frequency) is left aside."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise Fault(
                f"the gazetteer {path} cannot be read: {error.strerror}.", "It is a file of one name a line."
            ) from error
        except UnicodeDecodeError as error:
            raise Fault(f"the gazetteer {path} is not UTF-8 (byte {error.start}).", "Save it as UTF-8.") from error
        found = Gazetteer(line.split("\t")[0] for line in lines)
        if not found.names:
            raise Fault(f"the gazetteer {path} has no name in it.", "It is a file of one name a line.")
        return found

    def find(self, text: str) -> Iterator[Span]:
        """Every occurrence of every name, overlapping ones too; of scripts with spaces, whole words only."""
        for at, first in enumerate(text):
            for length in self.lengths.get(first, ()):
                if text[at : at + length] in self.names and whole(text, at, at + length):
                    yield at, at + length


def capitals(text: str) -> Iterator[Span]:
    """Runs of capitalised words. The first word of a sentence is one only if more of them follow it."""
    for match in _CAPITALS.finditer(text):
        start, end = match.span()
        if _OPENS.search(text, max(0, start - 8), start):
            first, _, rest = match.group().partition(" ")
            if not rest:
                continue
            if _FUNCTION.fullmatch(first):
                start += len(first) + 1
        if end - start > 1:
            yield start, end


def whole(text: str, start: int, end: int) -> bool:
    """Whether a span is not a part of a longer word."""
    return not (_joins(text, start - 1, start) or _joins(text, end - 1, end))


def _joins(text: str, left: int, right: int) -> bool:
    return (
        left >= 0
        and right < len(text)
        and all(_INSIDE.match(sign) and not _WITHOUT_SPACES.match(sign) for sign in (text[left], text[right]))
    )


def resolved(spans: Iterable[Span]) -> list[Span]:
    """Spans of which none overlap: the longest first, of equals the leftmost."""
    taken: list[Span] = []
    covered: set[int] = set()
    for start, end in sorted(set(spans), key=lambda span: (span[0] - span[1], span[0])):
        if covered.isdisjoint(range(start, end)):
            covered.update(range(start, end))
            taken.append((start, end))
    return sorted(taken)
