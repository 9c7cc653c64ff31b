"""Folders of HTML: each file is a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.readers.pages import PageSource
from foreword.text.reading import Unit


class Html(PageSource):
    """Pages as files."""

    endings = (".html", ".htm", ".xhtml")

    kind: str = "html"

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        about = CorpusDocument("", str(path))
        large = path.stat().st_size > self.limit
        found = "too large" if large else self.page(path.read_bytes(), "", about, tally)
        if isinstance(found, str):
            tally.remove(found, about)
        else:
            yield found
