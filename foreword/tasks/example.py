"""A labelled example: texts and what is right about them, whatever the kind of task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Characters start to end of a text, and what stands there. Start -1: it stands nowhere and is only to be compared with."""

    start: int
    end: int
    text: str


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
    where: str = ""                    # file and line, for messages

    @property
    def placed(self) -> tuple[Span, ...]:
        """Right answers that stand in the text, so that they can be learned."""
        spans = self.label if isinstance(self.label, tuple) else ()
        return tuple(one for one in spans if isinstance(one, Span) and one.start >= 0)
