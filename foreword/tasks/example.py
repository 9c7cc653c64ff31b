"""A labelled example: texts and what is right about them, whatever the kind of task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class UnusableExample(ValueError):
    """An example that cannot be used (its right answer is not among the choices). Left out, and said."""


@dataclass(frozen=True)
class Span:
    """Characters start to end of a text, and what stands there. Start -1: it stands nowhere and is only to be compared with."""

    start: int
    end: int
    text: str


Prediction = Any  # depends on the kind, as a label does; of a span its text, "" for none
Label = str | float | int | tuple[Span, ...] | tuple[str, ...] | None


@dataclass(frozen=True)
class Example:
    """One example. What its label is depends on the kind; None: it has none yet.

    classify, pair   texts (text,) or (first, second)         label: the name of its class
    similarity       texts (first, second)                    label: a number
    choice           texts (context,) or (context, question)  label: the place of the right one of `choices`, from 0
    span             texts (question, context)                label: right answers, characters of the context; () is "no answer"
    tag              texts (whole,), `words` of it            label: a tag for each word
    rank             texts (query, candidate)                 label: relevance, 0 or more; candidates of one query share `group`
    """

    id: str
    texts: tuple[str, ...]
    label: Label = None
    choices: tuple[str, ...] = ()
    words: tuple[Span, ...] = ()
    group: str = ""
    where: str = ""  # file and line, for messages

    @property
    def number(self) -> float:
        """A label that is a number, or the place of a choice."""
        return float(self.label) if isinstance(self.label, int | float) else float("nan")

    @property
    def tags(self) -> tuple[str, ...]:
        """A label that is a tag for each word."""
        return tuple(map(str, self.label)) if isinstance(self.label, tuple) else ()

    @property
    def spans(self) -> tuple[Span, ...]:
        """A label that is the right answers."""
        return tuple(one for one in self.label if isinstance(one, Span)) if isinstance(self.label, tuple) else ()

    @property
    def placed(self) -> tuple[Span, ...]:
        """Right answers that stand in the text, so that they can be learned."""
        return tuple(one for one in self.spans if one.start >= 0)

    @property
    def references(self) -> list[str]:
        """The texts of the right answers; an empty one where there is none."""
        return [self.label] if isinstance(self.label, str) else [one.text for one in self.spans] or [""]


def groups(examples: Sequence[Example]) -> dict[str, list[int]]:
    """What belongs together: the candidates of a query; else every example is alone."""
    found: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        found.setdefault(example.group or str(number), []).append(number)
    return found
