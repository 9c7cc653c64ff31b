"""Span extraction: which stretch of a text answers a question?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from foreword.basics.files import JsonObject
from foreword.tasks.example import Example, Span
from foreword.tasks.labelled.base import InvalidRow, LabelledKind, filled
from foreword.tasks.labelled.columns import Columns, field
from foreword.tasks.template import Row, names, render, value

UNANSWERABLE = "unanswerable"  # what is written where there is no answer


class SpanExtraction(LabelledKind):
    """Which stretch of a text answers a question, if one does? The answers are a list of {text, start}."""

    in_words: ClassVar[str] = "span extraction"
    reads: ClassVar[tuple[str, ...]] = ("question", "context")
    answer: ClassVar[str] = "spans"
    columns: ClassVar[tuple[str, ...]] = ("question", "context", "answers (or answer and start)")
    shuffles: ClassVar[bool] = False
    kind: Literal["span"] = "span"
    metrics: tuple[str, ...] = ("span_f1", "span_exact")
    question: str
    context: str
    spans: str
    # answers not where the file says they are; kept only to compare with
    unplaced: Literal["refuse", "keep"] = "refuse"

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        context, answers = columns.first("context", "passage", "paragraph"), columns.first("spans", "answers", "answer")
        if not (context and answers and "question" in columns):
            return None
        return (
            cls(question="{question}", context=field(context), spans=field(answers)),
            f"columns question, {context} and {answers}",
        )

    def read(self, row: Row) -> Example:
        return Example("", (filled(self.question, row), str(value(names(self.context)[0], row))))  # offsets count in it

    def label_in(self, row: Row, read: Example) -> tuple[Span, ...]:
        find = span_in if self.unplaced == "refuse" else span_or_none
        return tuple(find(read.texts[1], one) for one in answers_in(value(names(self.spans)[0], row), row))

    def group(self, example: Example, row: Row) -> str:
        return render(self.part_by, row) if self.part_by else example.texts[1]

    def as_target(self, example: Example) -> str:
        return example.references[0] or UNANSWERABLE

    def from_text(self, said: str, chance: float, example: Example, labels: Sequence[str]) -> str:
        return "" if said == UNANSWERABLE else said

    def constant_answer(self, train: Sequence[Example]) -> Callable[[Example], str]:
        return lambda example: ""


def answers_in(said: Any, row: Row) -> list[JsonObject]:
    """Answers as {text, start}, from the ways people write them: a list of such, `datasets`' two lists, or only the text."""
    if isinstance(said, Mapping) and isinstance(said.get("text"), (list, tuple)):
        said = [{"text": text, "start": start} for text, start in zip(said["text"], said["answer_start"])]
    if isinstance(said, (str, Mapping)):
        said = [said] if said else []
    return [_answer(one, row) for one in said or []]


def _answer(one: object, row: Row) -> JsonObject:
    if isinstance(one, Mapping):
        start = one.get("start", one.get("answer_start"))
        one = one.get("text", "")
    else:
        start = row.get("start", row.get("answer_start"))
    return {"text": one, "start": None if start in (None, "") else int(start)}


def span_in(text: str, answer: Mapping[str, Any]) -> Span:
    """An answer as characters of its text. Without a start it must stand there once."""
    said, start = str(answer["text"]), answer["start"]
    if start is None and said and text.count(said) == 1:
        start = text.find(said)
    if start is None:
        raise InvalidRow(
            f"the answer {said!r} stands in its text {text.count(said) if said else 0} times, and no start is given.",
            "Give the column start: the character at which the answer begins, counted from 0.",
        )
    if said and text[start : start + len(said)] == said:
        return Span(start, start + len(said), said)
    elsewhere = text.find(said) if said else -1
    raise InvalidRow(
        f"the answer {said!r} does not stand at character {start} of its text"
        + (f"; it stands at {elsewhere}." if elsewhere >= 0 else ", nor anywhere in it."),
        "Offsets count characters (not bytes) from 0, in the text as it is written.",
    )


def span_or_none(text: str, answer: Mapping[str, object]) -> Span:
    """The same where published files have mistakes: where it stands if that is sure, or else nowhere."""
    try:
        return span_in(text, answer)
    except InvalidRow:
        said = str(answer["text"])
        return span_in(text, {"text": said, "start": None}) if said and text.count(said) == 1 else Span(-1, -1, said)
