"""Bytes to text: UTF-8 or a message that says where it is not."""

from __future__ import annotations

from pathlib import Path

from foreword.basics.messages import Fault


def decoded(content: bytes, path: Path, position: int) -> str:
    """UTF-8 to text; `position` is where in the file the bytes begin."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        utf16 = position == 0 and content[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise Fault(
            f"byte {position + error.start:,} (0x{content[error.start]:02X}) is not valid UTF-8.",
            f"Convert the file first:  iconv -f {'utf-16' if utf16 else 'latin1'} -t utf-8 {path.name} > new.txt"
            "    (name the encoding it really has)",
            where=str(path),
        ) from error
    return text.removeprefix("\ufeff") if position == 0 else text  # a byte-order mark is no text
