"""Leave out lines, or three sentences in a row, that have stood before anywhere in the corpus (C4; Raffel et al. 2020)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from foreword.basics.files import write_array
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Documents, Tally, WholeStage
from foreword.text.dedup import content_key

TOGETHER = 2**22  # hashes that are compared at a time: memory does not depend on how many there are
ROW = 3  # sentences that make a repetition, as in C4
_SENTENCE = re.compile(r"(?<=[.!?])[\"”')\]]*\s+|(?<=[。！？])[”」』]*|\n+")


class Repeats(WholeStage):
    """What stood before goes, its first occurrence stays. A document of which nothing is left goes too."""

    kind: str = "repeats"
    of: Literal["lines", "sentences"] = "sentences"  # three sentences in a row, or single lines
    shortest: int = Field(default=20, ge=0)  # characters of a line that may not stand twice

    def sketch(self, documents: Documents, place: Path) -> Documents:
        found, ends = list[int](), [0]
        for document in documents:
            found += [key for _, _, key in self.parts(document.text)]
            ends.append(len(found))
            yield document
        write_array(place.with_suffix(".parts.npy"), np.asarray(found, np.uint64))
        write_array(place.with_suffix(".ends.npy"), np.asarray(ends, np.int64))

    def parts(self, text: str) -> Iterator[tuple[int, int, int]]:
        """(start, end, hash) of what may not stand twice."""
        spans = list(_lines(text) if self.of == "lines" else _sentences(text))
        size = 1 if self.of == "lines" else ROW
        for first in range(len(spans) - size + 1):
            start, end = spans[first][0], spans[first + size - 1][1]
            if size > 1 or end - start >= self.shortest:
                same = " ".join(text[start:end].lower().split())
                yield start, end, int.from_bytes(content_key(same)[:8], "little")

    def compare(self, places: list[Path]) -> None:
        numbers = [len(np.load(place.with_suffix(".parts.npy"), mmap_mode="r")) for place in places]
        firsts = np.cumsum([0, *numbers])
        again = np.zeros(firsts[-1], bool)
        groups = max(1, -(-int(firsts[-1]) // TOGETHER))
        for group in range(groups):  # equal hashes are in the same group
            keys, at = [], []
            for place, first in zip(places, firsts):
                parts = np.load(place.with_suffix(".parts.npy"))
                here = np.flatnonzero(parts % np.uint64(groups) == group)
                keys.append(parts[here])
                at.append(here + first)
            numbered = np.concatenate(at)
            _, earliest = np.unique(np.concatenate(keys), return_index=True)
            again[numbered] = True
            again[numbered[earliest]] = False
        for place, first, after in zip(places, firsts, firsts[1:]):
            write_array(place.with_suffix(".again.npy"), again[first:after])

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        ends, again = (np.load(place.with_suffix(f".{name}.npy")) for name in ("ends", "again"))
        for document, first, last in zip(documents, ends.tolist(), ends[1:].tolist()):
            left = self._without(document, again[first:last].tolist(), tally) if again[first:last].any() else document
            if left.text:
                yield left
            else:
                tally.remove("all of it stood before", document)

    def _without(self, document: CorpusDocument, again: list[bool], tally: Tally) -> CorpusDocument:
        text, kept, at, gone = document.text, [], 0, 0
        for (start, end, _), repeated in zip(self.parts(text), again):
            if repeated and end > at:
                kept.append(text[at : max(at, start)])
                at, gone = end, gone + 1
                tally.change("lines" if self.of == "lines" else "three sentences", text[start:end])
        left = re.sub(r"\n{3,}", "\n\n", "".join([*kept, text[at:]])).strip()
        return replace(document, text=left, dialogue=None).noted(self.kind, gone)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    for found in re.finditer(r"[^\n]+", text):
        if found.group().strip():
            yield found.span()


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for found in _SENTENCE.finditer(text):
        if text[at : found.start()].strip():
            yield at, found.start()
        at = found.end()
    if text[at:].strip():
        yield at, len(text)
