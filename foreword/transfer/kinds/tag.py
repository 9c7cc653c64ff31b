"""Tagging, learned: a sentence too long for one sequence becomes several that follow each other, so no word is lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.objectives.base import NOTHING
from foreword.objectives.tag import Tag
from foreword.report import Plot
from foreword.report.plots import COUNTS, confusion, confusion_matrix
from foreword.tasks.entities import entities
from foreword.tasks.example import Example, Prediction, Span
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline, judged
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, Line, TransferKind


class TagTransfer(TransferKind):
    objectives: ClassVar[tuple[str, ...]] = ("tag",)
    caption: ClassVar[str] = f"Words, by the kind of name they are part of. {COUNTS}"
    combines: ClassVar[bool] = False

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        encoder.tokenize(example.texts[0] for example in examples)
        place = {label: number for number, label in enumerate(labels)}
        windows = (self._windows(number, example, place, encoder) for number, example in enumerate(examples))
        return [window for several in windows for window in several]

    def _windows(self, number: int, example: Example, place: dict[str, int], encoder: Encoder) -> list[EncodedExample]:
        ids, offsets = encoder.tokens(example.texts[0])
        firsts, before, found = first_pieces(example.words, offsets), encoder.input_format.before, []
        for start in encoder.windows(ids, encoder.room(1), encoder.room(1)):
            part = slice(start, start + encoder.room(1))
            sequence = encoder.sequence([ids[part]])
            spread = np.full((len(sequence.ids), 2), -1)
            spread[before : before + len(ids[part])] = offsets[part]
            target = np.full(len(sequence.ids), NOTHING)
            for first, tag in zip(firsts, example.tags):
                if first is not None and 0 <= first - start < len(ids[part]):
                    target[before + first - start] = place[tag]
            found.append(EncodedExample((number,), (sequence,), target if example.label is not None else None, spread))
        return found

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        assert isinstance(read.objective, Tag)
        labels = read.objective.labels
        pieces: dict[int, tuple[list[np.ndarray], list[np.ndarray]]] = {}
        for window, table in zip(read.encoded, read.scores):
            assert window.offsets is not None
            text = window.offsets[:, 0] >= 0
            offsets, tables = pieces.setdefault(window.examples[0], ([], []))
            offsets.append(window.offsets[text])
            tables.append(table[text])
        nothing = "O" if "O" in labels else labels[0]  # of a word for which no token stands
        found = []
        for number, example in enumerate(examples):
            offsets, tables = pieces[number]
            said = [labels[i] for i in np.concatenate(tables).argmax(1)] if len(np.concatenate(tables)) else []
            firsts = first_pieces(example.words, np.concatenate(offsets))
            found.append(Answer(tuple(nothing if first is None else said[first] for first in firsts)))
        return found

    def baseline(self, task: LabelledTask) -> Baseline:
        return known_names(task)

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        """Word by word, what kind of name each is part of."""
        true = [_name(tag) for one in task.test for tag in one.tags]
        answered = [_name(tag) for tags in predicted for tag in tags]
        names = sorted({*true, *answered} - {"O"})
        return confusion_matrix(confusion(true, answered, ["O", *names]), ["none", *names], note)

    def mistake(self, example: Example, line: Line) -> float | None:
        return float(sum(tag != true for tag, true in zip(line["answer"], example.tags))) or None

    def shown(self, example: Example, answer: Any) -> str:
        names = sorted(entities([str(tag) for tag in answer]), key=lambda one: one[1])
        text, words = example.texts[0], example.words
        said = [f"{kind}: {text[words[first].start : words[after - 1].end]}" for kind, first, after in names]
        return "; ".join(said) or "nothing"


def _name(tag: str) -> str:
    return "O" if tag == "O" else tag.partition("-")[2] or tag


def first_pieces(words: Sequence[Span], offsets: np.ndarray) -> list[int | None]:
    """For each word the first token that stands for some of it; None: none does."""
    found: list[int | None] = []
    at = 0
    for word in words:
        while at < len(offsets) and offsets[at, 1] <= word.start:
            at += 1
        inside = at < len(offsets) and offsets[at, 0] < word.end
        found.append(at if inside else None)
    return found


def known_names(task: LabelledTask) -> Baseline:
    """Names that train has, each with the tags it most often had there; of two that overlap the longer (Tjong Kim Sang 2003)."""
    seen: dict[tuple[str, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)
    every: Counter[str] = Counter()
    for example in task.train:
        tags, said = example.tags, [word.text for word in example.words]
        every.update(tags)
        for _, start, end in entities(tags):
            seen[tuple(said[start:end])][tuple(tags[start:end])] += 1
    most, names = every.most_common(1)[0][0], {name: tags.most_common(1)[0][0] for name, tags in seen.items()}
    longest = max(map(len, names), default=0)

    def one(example: Example) -> list[str]:
        said = [word.text for word in example.words]
        found: list[str] = []
        while len(found) < len(said):
            here = (tuple(said[len(found) : len(found) + length]) for length in range(longest, 0, -1))
            found += next((names[name] for name in here if name in names), (most,))
        return found

    return judged(task, "names known from train", f"{len(names):,} names", one)
