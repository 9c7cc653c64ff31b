"""A document: the unit that is split, counted and never cut by a shuffle. A dialogue is one whose turns are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

BATCH = 2**20  # characters that are worked on at once
Span = tuple[int, int]  # of a text: the first character, and one past the last


@dataclass(frozen=True)
class Dialogue:
    """Who answers whom: the turns of a conversation in order, and for each whether it is one to learn from."""

    turns: tuple[str, ...]
    speakers: tuple[str, ...] = field(default=(), kw_only=True)  # who says each turn; none given: they take turns
    weights: tuple[int, ...] = ()  # 1: learned as a reply; 0: only read. None given: all 1

    @property
    def text(self) -> str:
        return "\n".join(self.turns)

    @property
    def answers(self) -> tuple[bool, ...]:
        """Which turns are said by another than whoever speaks first."""
        if not self.speakers:
            return tuple(number % 2 == 1 for number in range(len(self.turns)))
        return tuple(speaker != self.speakers[0] for speaker in self.speakers)

    @property
    def learned(self) -> tuple[int, ...]:
        return self.weights or (1,) * len(self.turns)


@dataclass(frozen=True)
class Document:
    """A text and where it came from."""

    text: str
    source: str = ""
    dialogue: Dialogue | None = None  # if it is one: `text` is then its turns, one to a line
    spans: tuple[Span, ...] = ()  # the entities in it, where it came with them


Some = TypeVar("Some", bound=Document)


def in_batches(documents: Iterable[Some], characters: int = BATCH) -> Iterator[list[Some]]:
    """As many documents at a time as have so many characters, the last of them going over."""
    batch: list[Some] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
