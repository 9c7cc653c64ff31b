"""A document: the unit that is split, counted and never cut by a shuffle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """A text and where it came from."""

    text: str
    source: str = ""
