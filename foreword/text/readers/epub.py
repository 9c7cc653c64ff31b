"""EPUB books: a book is a document, its chapters in the order of reading."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.source import Source
from foreword.text.corpus.stage import Tally
from foreword.text.readers.charset import decode_page
from foreword.text.readers.markup import markup_text
from foreword.text.reading import Unit

OPF, CONTAINER = "{http://www.idpf.org/2007/opf}", "{urn:oasis:names:tc:opendocument:xmlns:container}"


class Epub(Source):
    """Books as .epub."""

    endings = (".epub",)

    kind: str = "epub"

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        try:
            with zipfile.ZipFile(path) as book:
                yield CorpusDocument("\n\n".join(filter(None, chapters(book, self.limit))), str(path))
        except EpubTooLarge:
            tally.remove("too large", CorpusDocument("", str(path)))
        except (
            zipfile.BadZipFile,
            zlib.error,
            KeyError,
            ElementTree.ParseError,
            NotAnEpub,
            EOFError,
            RuntimeError,
        ) as error:
            tally.remove("not a readable EPUB", CorpusDocument(f"{path.name}: {error}", str(path)))


class NotAnEpub(ValueError):
    """The parts that every EPUB has are not there."""


class EpubTooLarge(ValueError):
    """Unpacked, the chapters are larger than allowed."""


def chapters(book: zipfile.ZipFile, limit: int) -> Iterator[str]:
    left = limit

    def content(name: str) -> bytes:
        nonlocal left
        with book.open(name) as file:  # what the index says of its size may be a lie: no more than this is unpacked
            found = file.read(left + 1)
        left -= len(found)
        if left < 0:
            raise EpubTooLarge
        return found

    place = _xml(content("META-INF/container.xml")).find(f".//{CONTAINER}rootfile")
    if place is None:
        raise NotAnEpub("it names no root file")
    root = place.get("full-path", "")
    package = _xml(content(root))
    items = {item.get("id"): item.get("href", "") for item in package.iter(f"{OPF}item")}
    for reference in package.iter(f"{OPF}itemref"):
        if href := items.get(reference.get("idref")):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(href)))
            yield markup_text(decode_page(content(name))[0])


def _xml(content: bytes) -> ElementTree.Element:
    if b"<!ENTITY" in content:
        raise NotAnEpub("it declares entities")
    return ElementTree.fromstring(content)
