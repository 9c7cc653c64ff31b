"""Tagging: a tag for each word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from foreword.tasks.example import Example, Label, Span
from foreword.tasks.labelled.base import LabelledKind, WrongRow, listed
from foreword.tasks.prompted.request import Row


class Tagging(LabelledKind):
    """Which tag has each word? Columns hold lists of equal length."""

    in_words: ClassVar[str] = "token tagging"
    kind: Literal["tag"] = "tag"
    metrics: tuple[str, ...] = ("entity_f1", "tag_accuracy")
    sentence: str                      # a field with the list of words
    tags: str
    join: str = " "                    # between words: nothing in Chinese

    def inputs(self) -> dict[str, str]:
        return {"sentence": self.sentence}

    def answers(self) -> dict[str, str]:
        return {"tags": self.tags}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        said = listed(self.sentence, row)
        tags = tuple(listed(self.tags, row)) if labelled else None
        if not said:
            raise WrongRow("this row has no words.", "Remove the row.")
        if tags is not None and len(tags) != len(said):
            raise WrongRow(f"{len(said)} words and {len(tags)} tags.", "Each word needs one tag.")
        words, start = [], 0
        for word in said:
            words.append(Span(start, start + len(word), word))
            start += len(word) + len(self.join)
        return Example(self.called(row, number), (self.join.join(said),), tags, words=tuple(words), where=where)

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        there = {tag for label in labels if isinstance(label, tuple) for tag in label}
        return tuple(sorted(map(str, there), key=lambda tag: (tag != "O", tag[2:], tag)))

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        return [str(tag) for tag in label if tag not in known] if isinstance(label, tuple) else []
