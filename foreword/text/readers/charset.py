"""Bytes of a page to text: what its header says may be wrong, so UTF-8 is tried first."""

from __future__ import annotations

import codecs
import re

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)")
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}  # what pages really mean
WRONG, GUESSED, NONE = "wrong charset header", "charset guessed", "no charset fits"


def decode_page(content: bytes, declared: str = "") -> tuple[str, str]:
    """(the text, what is to be counted): WRONG or GUESSED if so; NONE, and no text, if nothing fits."""
    for mark, charset in MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(charset, "replace"), ""
    found = _META.search(content[:4096]) or _XML.search(content[:200])
    said = [_known(one) for one in (declared, found.group(1).decode("ascii") if found else "")]
    text = _tried(content, "utf-8")
    if text is not None:
        other = next((one for one in said if one), "utf-8")
        return text, "" if content.isascii() or other == "utf-8" else WRONG
    for charset in said:
        if charset and (text := _tried(content, charset)) is not None:
            return text, ""
    text = _tried(content, "cp1252")
    return (text, WRONG if any(said) else GUESSED) if text is not None else ("", NONE)


def _known(name: str) -> str:
    """The codec of this name, or nothing."""
    try:
        found = codecs.lookup(name).name if name else ""
    except LookupError:
        return ""
    return WIDER.get(found, found)


def _tried(content: bytes, charset: str) -> str | None:
    try:
        return content.decode(charset)
    except UnicodeError:
        return None
    except LookupError:  # base64 and others of its kind are codecs, but not of text
        return None
