"""PDF: the text that a file holds, by pypdf; a scanned page holds none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from foreword.basics.packages import needed
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.source import Source
from foreword.text.corpus.stage import Tally
from foreword.text.reading import Unit


class Pdf(Source):
    """Each file is a document."""

    endings = (".pdf",)

    kind: str = "pdf"
    pages: int = 5000  # that are read at most

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        library = needed("pypdf", "corpus", "PDF needs")
        errors = needed("pypdf.errors", "corpus", "PDF needs")
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        if path.stat().st_size > 10 * self.limit:  # pictures are no text, but they are to be walked through
            tally.remove("too large", CorpusDocument("", str(path)))
            return
        try:
            reader = library.PdfReader(path)
            if reader.is_encrypted and not reader.decrypt(""):
                tally.remove("locked by a password", CorpusDocument(path.name, str(path)))
                return
            texts = [page.extract_text().strip() for _, page in zip(range(self.pages), reader.pages)]
        except (
            errors.PyPdfError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            RecursionError,
        ) as error:
            # a damaged file may break anything inside of the library
            tally.remove("not a readable PDF", CorpusDocument(f"{path.name}: {error}", str(path)))
            return
        yield CorpusDocument("\n\n".join(filter(None, texts)).encode("utf-8", "replace").decode(), str(path))
