"""WARC and WET files, as Common Crawl publishes them: each response with HTML, or each text, is a document."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.files import file_state, listed
from foreword.text.corpus.stage import Tally
from foreword.text.readers.http import TooLarge, UnknownEncoding, response
from foreword.text.readers.pages import PageSource
from foreword.text.reading import Unit

LINE = 2**16  # bytes of a header line
BLOCK = 2**20
HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True)
class WarcRecord:
    headers: Message
    content: bytes | None  # None: larger than the limit


class Warc(PageSource):
    """Records of archives, plain or .gz; one file is one shard, read as it is unpacked."""

    endings = (".warc", ".warc.gz", ".wet", ".wet.gz")

    kind: str = "warc"
    addresses: str = ""  # a list, one to a line, as `corpus links` writes it: only pages with such an address are read

    def settings(self) -> JsonObject:
        return {**super().settings(), **({"listed": file_state([self.addresses])} if self.addresses else {})}

    @cached_property
    def wanted(self) -> frozenset[str] | None:
        return frozenset(listed(Path(self.addresses))) if self.addresses else None

    def shards(self) -> list[Unit]:
        return [Unit((str(path),), path.stat().st_size) for path in self.files()]

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        for record in records(path, self.limit):
            kind = record.headers.get("WARC-Type", "")
            if kind not in ("response", "conversion"):
                continue
            about = CorpusDocument(
                "",
                str(path),
                address=record.headers.get("WARC-Target-URI", "").strip("<>"),
                date=record.headers.get("WARC-Date", ""),
            )
            found = self._document(kind, record, about, tally)
            if isinstance(found, str):
                tally.remove(found, about)
            else:
                yield found

    def _document(self, kind: str, record: WarcRecord, about: CorpusDocument, tally: Tally) -> CorpusDocument | str:
        """Or the rule that leaves it out."""
        if self.wanted is not None and about.address not in self.wanted:
            return "address not listed"
        if record.content is None:
            return "too large"
        if kind == "conversion":
            text = record.content.decode("utf-8", "replace")
            return CorpusDocument(text, about.source, address=about.address, date=about.date)
        try:
            status, headers, body = response(record.content, self.limit)
        except TooLarge:
            return "too large"
        except UnknownEncoding:
            return "unknown content encoding"
        if status != 200:
            return "status not 200"
        if headers.get_content_type() not in HTML:
            return "not HTML"
        return self.page(body, headers.get_content_charset() or "", about, tally)


def records(path: Path, limit: int) -> Iterator[WarcRecord]:
    """One after another. A file that was cut short is a fault, not a shorter file."""
    number = 0
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream: BinaryIO = io.BufferedReader(gzip.GzipFile(fileobj=file), BLOCK) if packed else file
        try:
            while (record := _record(stream, limit)) is not None:
                number += 1
                yield record
        except (EOFError, gzip.BadGzipFile, zlib.error, _NotARecord) as error:
            raise Fault(
                f"the archive is broken after {number:,} records: {error} "
                f"({file.tell():,} of {path.stat().st_size:,} bytes were read).",
                "The file may have been cut short; copy it again.",
                where=str(path),
            ) from error


class _NotARecord(ValueError):
    """What stands there is no record."""


def _record(stream: BinaryIO, limit: int) -> WarcRecord | None:
    line = stream.readline(LINE)
    while line in (b"\r\n", b"\n"):
        line = stream.readline(LINE)
    if not line:
        return None
    if not line.startswith(b"WARC/"):
        raise _NotARecord("it does not begin with WARC/")
    lines: list[str] = []
    while (line := stream.readline(LINE)) not in (b"\r\n", b"\n"):
        if not line or len(lines) > 100:
            raise _NotARecord("its header does not end")
        lines.append(line.decode("utf-8", "replace"))
    headers = HeaderParser().parsestr("".join(lines))
    length = headers.get("Content-Length", "")
    if not length.isdigit():
        raise _NotARecord("it does not say its length")
    return WarcRecord(headers, _content(stream, int(length), limit))


def _content(stream: BinaryIO, length: int, limit: int) -> bytes | None:
    parts, left = [], length
    while left:
        block = stream.read(min(left, BLOCK))
        if not block:
            raise _NotARecord(f"{left:,} of its {length:,} bytes are missing")
        left -= len(block)
        if length <= limit:
            parts.append(block)
    return b"".join(parts) if length <= limit else None
