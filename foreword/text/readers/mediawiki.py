"""MediaWiki's XML dumps, plain or .bz2, read as a stream: one article is one document."""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.source import MEGABYTE, Source
from foreword.text.corpus.stage import Tally
from foreword.text.readers.wikitext import plain_text
from foreword.text.reading import Unit

BEGIN, END, LAST = b"<page>", b"</page>", b"</mediawiki>"
BLOCK = 2**20
RANGE = 16 * MEGABYTE


class MediaWiki(Source):
    """Articles without markup, tables and templates. Plain files are cut into ranges; a .bz2 is one shard."""

    endings = (".xml", ".xml.bz2")

    kind: str = "mediawiki"
    redirects: bool = False  # also pages that only lead to another
    simplified: bool = False  # Chinese: traditional characters become simplified ones (needs opencc)

    def shards(self) -> list[Unit]:
        made: list[Unit] = []
        for path in self.files():
            size = path.stat().st_size
            if _packed(path):
                made.append(Unit((str(path),), size))
            else:
                starts = range(0, max(size, 1), RANGE)
                made += [
                    Unit((str(path),), min(RANGE, size - at), start=at, stop=min(at + RANGE, size)) for at in starts
                ]
        return made

    @cached_property
    def converter(self) -> Any:
        return needed("opencc", "corpus", "simplified = true needs").OpenCC("t2s")

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        parser = needed("mwparserfromhell", "corpus", "MediaWiki's dumps need")
        with open(path, "rb") as file:
            packed = _packed(path)
            stream: BinaryIO = bz2.BZ2File(file) if packed else file  # type: ignore[assignment]
            stop = path.stat().st_size if packed else unit.stop
            try:
                for page in pages(stream, 0 if packed else unit.start, None if packed else stop, self.limit):
                    found = self._article(page, path, parser)
                    if isinstance(found, CorpusDocument):
                        yield found
                    else:
                        tally.remove(*found)
            except (EOFError, OSError, BrokenDump) as error:
                raise Fault(
                    f"the dump is broken: {error} ({file.tell():,} of {path.stat().st_size:,} bytes were read).",
                    "It may have been cut short; copy the file again.",
                    where=str(path),
                ) from error

    def _article(self, page: bytes | None, path: Path, parser: Any) -> CorpusDocument | tuple[str, CorpusDocument]:
        """Or the rule that leaves it out, and what it was."""
        if page is None:
            return "too large", CorpusDocument("", str(path))
        try:
            tree = ElementTree.fromstring(page)
        except ElementTree.ParseError as error:
            raise BrokenDump(f"a page is not valid XML: {error}") from error
        title = tree.findtext("title") or ""
        date = tree.findtext("revision/timestamp") or ""
        about = CorpusDocument(title, str(path), date=date)
        if tree.findtext("ns", "0") != "0":
            return "not an article", about
        if tree.find("redirect") is not None and not self.redirects:
            return "redirect", about
        text = plain_text(tree.findtext("revision/text") or "", parser, self.simplified)
        if not text:
            return "no text", about
        whole = f"{title}\n\n{text}"
        return CorpusDocument(self.converter.convert(whole) if self.simplified else whole, str(path), date=date)


class BrokenDump(ValueError):
    """A dump that is not whole."""


def _packed(path: Path) -> bool:
    return path.name.lower().endswith(".bz2")


def pages(stream: BinaryIO, start: int, stop: int | None, limit: int) -> Iterator[bytes | None]:
    """Each page that begins between `start` and `stop` (None: the end); None for one that is larger than the limit."""
    if start:
        stream.seek(start)
    buffer, at = b"", start  # where in the file the buffer begins
    while True:
        begin = buffer.find(BEGIN)
        if begin >= 0 and stop is not None and at + begin >= stop:
            return
        if begin < 0:
            if stop is not None and at + len(buffer) - len(BEGIN) >= stop:
                return
            if not (more := stream.read(BLOCK)):
                if start:  # the range may begin inside of the last mark
                    stream.seek(max(0, stream.tell() - BLOCK))
                    buffer = stream.read(BLOCK)
                if LAST not in buffer:
                    raise BrokenDump("it ends before </mediawiki>")
                return
            keep = max(0, len(buffer) - len(LAST))
            buffer, at = buffer[keep:] + more, at + keep
            continue
        buffer, at = buffer[begin:], at + begin
        searched, large = 0, False
        while (end := buffer.find(END, searched)) < 0:
            if not (more := stream.read(BLOCK)):
                raise BrokenDump("it ends in the middle of a page")
            searched = max(0, len(buffer) - len(END))
            if len(buffer) > limit:
                large = True
                buffer, at, searched = buffer[searched:], at + searched, 0
            buffer += more
        end += len(END)
        yield None if large or end > limit else buffer[:end]
        buffer, at = buffer[end:], at + end
