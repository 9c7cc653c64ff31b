"""An HTTP response as an archive holds it: status, headers and body, unpacked up to a limit."""

from __future__ import annotations

import zlib
from email.message import Message
from email.parser import HeaderParser

WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class TooLarge(ValueError):
    """Unpacked it is larger than allowed."""


class UnknownEncoding(ValueError):
    """Packed in a way that is not known here, or broken."""


def response(content: bytes, limit: int) -> tuple[int, Message, bytes]:
    end = content.find(b"\r\n\r\n")
    head, body = (content[:end], content[end + 4 :]) if end >= 0 else (content, b"")
    first, _, rest = head.decode("latin-1").partition("\r\n")
    words = first.split(" ", 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    headers = HeaderParser().parsestr(rest)
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        body = _joined(body)
    encoding = headers.get("Content-Encoding", "").strip().lower()
    return status, headers, _unpacked(body, encoding, limit) if encoding not in ("", "identity") else body


def _joined(body: bytes) -> bytes:
    """The chunks of a body. Archives often have joined them already and kept the header: then it stays as it is."""
    parts, at = list[bytes](), 0
    while True:
        end = body.find(b"\r\n", at, at + 20)
        try:
            size = int(body[at : max(end, at)].split(b";")[0], 16)
        except ValueError:
            return body if not parts else b"".join(parts)
        if not size or end < 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def _unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    if encoding not in WINDOWS:
        raise UnknownEncoding(encoding)
    if encoding != "deflate" and not body.startswith(b"\x1f\x8b"):
        return body  # unpacked by whoever made the archive
    unpack = zlib.decompressobj(WINDOWS[encoding])
    try:
        found = unpack.decompress(body, limit + 1)
    except zlib.error as error:
        raise UnknownEncoding(str(error)) from error
    if len(found) > limit:
        raise TooLarge
    return found
