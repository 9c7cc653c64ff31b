"""A document: the unit that is split, counted and never cut by a shuffle. A dialogue is one whose turns are known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialogue:
    """Who answers whom: the turns of a conversation in order, and for each whether it is one to learn from."""

    turns: tuple[str, ...]
    weights: tuple[int, ...] = ()  # 1: learned as a reply; 0: only read. None given: all 1

    @property
    def text(self) -> str:
        return "\n".join(self.turns)

    @property
    def learned(self) -> tuple[int, ...]:
        return self.weights or (1,) * len(self.turns)


@dataclass(frozen=True)
class Document:
    """A text and where it came from."""

    text: str
    source: str = ""
    dialogue: Dialogue | None = None  # if it is one: `text` is then its turns, one to a line
