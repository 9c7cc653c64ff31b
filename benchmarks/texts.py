"""Text to measure with: the user's own, or what is on any machine, repeated until there is enough."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from foreword.text.found import found_documents
from foreword.text.reading import units

ARTICLE = re.compile(r"(?m)^(?= = [^=].*[^=] = $)")  # WikiText: a line like " = Title = "


def documents(megabytes: float, data: Sequence[Path] = ()) -> list[str]:
    """About so much text. Repeated documents carry a number, so that no two are alike."""
    source = _of(data) if data else (document.text for document in found_documents())
    whole = first(source, megabytes)
    size, repeated = size_of(whole), list(whole)
    for number in range(1, 10_000):
        if size >= megabytes * 1e6:
            break
        more = first((f"{number} {text}" for text in whole), megabytes - size / 1e6)
        size, repeated = size + size_of(more), repeated + more
    return repeated


def wikitext() -> list[str] | None:
    """The articles of WikiText-2's training text, if the folder named by FOREWORD_DATA holds it."""
    folder = Path(os.environ.get("FOREWORD_DATA", "")) / "wikitext-2"
    parts = sorted(folder.glob("train*.txt"))
    if "FOREWORD_DATA" not in os.environ or not parts:
        return None
    text = "".join(part.read_text(encoding="utf-8") for part in parts)
    return [article for article in ARTICLE.split(text) if article.strip()]


def _of(data: Sequence[Path]) -> Iterator[str]:
    return (document.text for document in chain.from_iterable(unit.documents() for unit in units(data)))


def first(texts: Iterable[str], megabytes: float) -> list[str]:
    """As many of them as make so much text."""
    kept, size = [], 0
    for text in texts:
        kept.append(text)
        size += len(text.encode("utf-8", "surrogatepass"))
        if size >= megabytes * 1e6:
            break
    return kept


def size_of(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
