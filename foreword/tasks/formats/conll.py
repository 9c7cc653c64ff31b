"""Tagged words: CoNLL columns (one word a line, an empty line after a sentence), and text/tag pieces as MSRA published them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from foreword.tasks.files import Files, Line, numbered
from foreword.tasks.template import Row
from foreword.text.rows import RowFault


class Conll(Files):
    """A word a line with its tag in the last column; -DOCSTART- lines are no words. Fields: words, tags."""

    kind: Literal["conll"] = "conll"
    word: int = 0  # which column
    tag: int = -1

    def read(self, path: Path) -> Iterator[Row]:
        words: list[str] = []
        tags: list[str] = []
        first = 1
        for number, line in numbered(path):
            cells = line.rstrip("\r")
            if cells.strip(" \t") and not cells.startswith("-DOCSTART-"):
                parts = cells.split("\t") if "\t" in cells else cells.split(" ")  # a word may be another kind of space
                if len(parts) < 2 or not parts[self.word] or not parts[self.tag]:
                    raise RowFault(
                        number, f"a word and its tag are expected here, by a space or tab (it says {cells!r})."
                    )
                first = number if not words else first
                words.append(parts[self.word])
                tags.append(parts[self.tag])
            elif words:
                yield Line({"words": words, "tags": tags}, first)
                words, tags = [], []
        if words:
            yield Line({"words": words, "tags": tags}, first)


class SlashTagged(Files):
    """A sentence a line, made of text/tag pieces; `o` is outside. Characters get B- and I- tags. Fields: words, tags."""

    kind: Literal["slashed"] = "slashed"
    outside: str = "o"

    def read(self, path: Path) -> Iterator[Row]:
        for number, line in numbered(path):
            words: list[str] = []
            tags: list[str] = []
            for piece in line.split():
                text, slash, tag = piece.rpartition("/")
                if not (slash and text and tag):
                    raise RowFault(number, f"every piece is text/tag (this one says {piece!r}).")
                words += text
                named = tag.upper()
                tags += ["O"] * len(text) if tag == self.outside else [f"B-{named}", *[f"I-{named}"] * (len(text) - 1)]
            if words:
                yield Line({"words": words, "tags": tags}, number)
