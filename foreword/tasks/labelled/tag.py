"""Tagging: a tag for each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from foreword.tasks.entities import in_iob1, to_iob2
from foreword.tasks.example import Example, Label, Span
from foreword.tasks.labelled.base import InvalidRow, LabelledKind, listed
from foreword.tasks.labelled.columns import Columns, field
from foreword.tasks.template import Row


class Tagging(LabelledKind):
    """Which tag has each word? Columns hold lists of equal length."""

    in_words: ClassVar[str] = "token tagging"
    reads: ClassVar[tuple[str, ...]] = ("sentence",)
    answer: ClassVar[str] = "tags"
    columns: ClassVar[tuple[str, ...]] = ("words", "tags")
    finite_labels: ClassVar[bool] = True
    lines: ClassVar[bool] = True
    kind: Literal["tag"] = "tag"
    metrics: tuple[str, ...] = ("entity_f1", "tag_accuracy")
    sentence: str  # a field with the list of words
    tags: str
    join: str = " "  # between words: nothing in Chinese

    @classmethod
    def from_columns(cls, columns: Columns) -> tuple[LabelledKind, str] | None:
        words, tags = columns.first("words", "tokens"), columns.first("tags", "ner_tags", "pos_tags", "labels")
        if not (words and tags):
            return None
        joined = columns.rows[0][words]
        chinese = not isinstance(joined, str) and all(len(str(word)) <= 1 for word in joined)
        return (
            cls(sentence=field(words), tags=field(tags), join="" if chinese else " "),
            f"columns {words} and {tags}, {'characters' if chinese else 'words'} with a tag each",
        )

    def read(self, row: Row) -> Example:
        said = listed(self.sentence, row)
        if not said:
            raise InvalidRow("this row has no words.", "Remove the row.")
        words, start = [], 0
        for word in said:
            words.append(Span(start, start + len(word), word))
            start += len(word) + len(self.join)
        return Example("", (self.join.join(said),), words=tuple(words))

    def label_in(self, row: Row, read: Example) -> tuple[str, ...]:
        tags = tuple(listed(self.tags, row))
        if len(tags) != len(read.words):
            raise InvalidRow(f"{len(read.words)} words and {len(tags)} tags.", "Each word needs one tag.")
        return tags

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        there = {tag for label in labels if isinstance(label, tuple) for tag in label}
        return tuple(sorted(map(str, there), key=lambda tag: (tag != "O", tag[2:], tag)))

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        return [str(tag) for tag in label if tag not in known] if isinstance(label, tuple) else []

    def converted(self, splits: dict[str, list[Example]]) -> str:
        if not in_iob1(example.tags for examples in splits.values() for example in examples):
            return ""
        for split, examples in splits.items():
            splits[split] = [replace(example, label=to_iob2(example.tags)) for example in examples]
        return "The tags are IOB1, where B- only separates two names; they were converted to IOB2, where it begins every name."

    def as_target(self, example: Example) -> str:
        return " ".join(example.tags)

    def from_text(self, said: str, chance: float, example: Example, labels: Sequence[str]) -> list[str]:
        tags = [tag if tag in labels else "O" for tag in said.split()][: len(example.words)]
        return tags + ["O"] * (len(example.words) - len(tags))

    def constant_answer(self, train: Sequence[Example]) -> Callable[[Example], list[str]]:
        most = Counter(tag for example in train for tag in example.tags).most_common(1)[0][0]
        return lambda example: [most] * len(example.words)

    def shuffled_labels(self, examples: Sequence[Example], rng: np.random.Generator) -> list[Label]:
        tags = [tag for example in examples for tag in example.tags]
        mixed = iter([tags[place] for place in rng.permutation(len(tags))])
        return [tuple(next(mixed) for _ in example.words) for example in examples]
