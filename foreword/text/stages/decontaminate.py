"""Leave out what stands in test sets: 13 words in a row and 200 characters on either side (Brown et al. 2020, appendix C)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import Field

from foreword.basics.files import JsonObject, write_array
from foreword.text.corpus.files import file_state, texts
from foreword.text.corpus.stage import Documents, Stage, Tally
from foreword.text.overlap import codes, runs, word_places


class Decontaminate(Stage):
    """The pieces of a document around what it shares with test sets; short pieces go, and documents in too many."""

    kind: str = "overlap"
    against: list[str]  # files of test text
    size: int = Field(default=13, gt=0)  # words in a row
    window: int = Field(default=200, ge=0)  # characters that go on either side
    shortest: int = 200  # characters of a piece that stays
    most: int = 10  # pieces: a document cut into more goes

    def settings(self) -> JsonObject:
        return {**super().settings(), **file_state(self.against)}

    def prepare(self, folder: Path) -> JsonObject:
        tests = [runs(codes(text), self.size) for text in texts(self.against)]
        write_array(folder / "tests.npy", np.unique(np.concatenate(tests)))
        return {}

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        tests = np.load(place / "tests.npy")
        for document in documents:
            spans = self._spans(document.text, tests)
            if not spans:
                yield document
                continue
            pieces, at = [], 0
            for start, end in spans:
                tally.change(f"{self.size} words of a test", document.text[start:end])
                pieces.append(document.text[at : max(at, start - self.window)])
                at = max(at, end + self.window)
            pieces.append(document.text[at:])
            kept = [piece.strip() for piece in pieces if len(piece.strip()) >= self.shortest]
            if not kept or len(kept) > self.most:
                tally.remove("no long piece without test text" if not kept else "in too many pieces", document)
            else:
                yield replace(document, text="\n".join(kept), dialogue=None).noted(self.kind, len(spans))

    def _spans(self, text: str, tests: np.ndarray) -> list[tuple[int, int]]:
        """Where the text has what the tests have; neighbours are one."""
        known = np.flatnonzero(np.isin(runs(codes(text), self.size), tests))
        if not len(known):
            return []
        places, found = word_places(text), list[tuple[int, int]]()
        for first in known.tolist():
            start, end = places[first][0], places[first + self.size - 1][1]
            if found and start <= found[-1][1]:
                found[-1] = found[-1][0], end
            else:
                found.append((start, end))
        return found
