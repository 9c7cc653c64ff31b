"""Plain text and rows, as `foreword tokens` reads them: txt, md, jsonl (also .gz and .zst), csv and parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foreword.text import reading
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.source import Source
from foreword.text.corpus.stage import Tally
from foreword.text.reading import Unit


class PlainText(Source):
    """Text files and rows."""

    endings = reading.ENDINGS

    kind: str = "text"
    documents: str = "auto"  # how files become documents: auto, file, paragraph, line or dialogues
    column: str = "text"  # that holds the text, in jsonl, csv and parquet

    def files(self) -> list[Path]:
        return [path for path, _ in reading.files(self.paths)]

    def shards(self) -> list[Unit]:
        return reading.units(self.paths, self.documents, self.column, reading.unit_size(self.paths))

    def extract(self, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        for one in unit.documents():
            if len(one.text) > self.limit:  # characters: at least as many bytes
                tally.remove("too large", CorpusDocument("", one.source))
                continue
            yield CorpusDocument(one.text, one.source, one.dialogue)
