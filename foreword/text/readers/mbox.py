"""Mailboxes: each mail is a document, with its subject as the first line; attachments are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from pathlib import Path

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.source import Source
from foreword.text.corpus.stage import Tally
from foreword.text.readers.charset import decode_page
from foreword.text.readers.markup import markup_text
from foreword.text.reading import Unit

_QUOTED = re.compile(r"^>+(?=From )", re.MULTILINE)


class Mbox(Source):
    """Mails of mbox files."""

    endings = (".mbox",)

    kind: str = "mbox"

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        for content in messages(path, self.limit):
            if content is None:
                tally.remove("too large", CorpusDocument("", str(path)))
                continue
            try:
                mail = message_from_bytes(content, policy=default)
                assert isinstance(mail, EmailMessage)
                subject, text = str(mail.get("Subject", "")), _body(mail)
            except (MessageError, ValueError, LookupError, AttributeError, IndexError, TypeError) as error:
                # headers that the standard library cannot read raise many things
                tally.remove("not a mail", CorpusDocument(f"{error}", str(path)))
                continue
            yield CorpusDocument(f"{subject}\n\n{text}".strip() if text else "", str(path), date=_date(mail))


def messages(path: Path, limit: int) -> Iterator[bytes | None]:
    """The mails between lines that begin with `From `; None for one that is larger than the limit."""
    lines: list[bytes] = []
    size, begun, blank = 0, False, True
    with open(path, "rb") as file:
        for line in iter(lambda: file.readline(2**20), b""):
            if blank and line.startswith(b"From "):
                if begun:
                    yield b"".join(lines) if size <= limit else None
                lines, size, begun = [], 0, True
            elif begun:
                size += len(line)
                if size <= limit:
                    lines.append(line)
            blank = line in (b"\n", b"\r\n")
    if begun:
        yield b"".join(lines) if size <= limit else None


def _body(mail: EmailMessage) -> str:
    part = mail.get_body(("plain", "html"))
    if part is None:
        return ""
    content = part.get_payload(decode=True)
    text = decode_page(content if isinstance(content, bytes) else b"", part.get_content_charset() or "")[0]
    text = markup_text(text) if part.get_content_type() == "text/html" else text
    return _QUOTED.sub("", text.replace("\r\n", "\n")).strip()


def _date(mail: EmailMessage) -> str:
    try:
        return parsedate_to_datetime(str(mail["Date"])).isoformat() if mail["Date"] else ""
    except (ValueError, TypeError):
        return ""
