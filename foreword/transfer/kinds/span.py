"""Span extraction, learned: windows over the text, the best pair of start and end, and back to characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.objectives.answerable_span import CHANCE, ENDS, START, UNANSWERABLE, AnswerableSpan
from foreword.objectives.span import Extract
from foreword.parts.task_heads import Reading
from foreword.report import Plot
from foreword.report.plots import columns
from foreword.tasks.example import Example, Prediction, Span
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline, best_on_dev
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, Line, TransferKind
from foreword.transfer.word_overlap import WORD, InverseDocumentFrequency, words

LENGTHS = (1, 2, 3, 4, 6)  # words of an answer, for the baseline
NEAR = 0.9  # what a word of the question counts one word further away
BINS = (1, 6, 11, 21, 41)  # characters of a right answer, from each on


class SpanTransfer(TransferKind):
    objectives: ClassVar[tuple[str, ...]] = ("span", "answerable_span")
    caption: ClassVar[str] = "Numbers above the bars: how many questions."
    combines: ClassVar[bool] = False

    def objective(
        self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()
    ) -> Extract:
        joint = reading == "end"  # as XLNet has it: an end given its start, and whether there is an answer
        return (AnswerableSpan if joint else Extract)(
            reading=reading, none=any(example.label == () for example in train)
        )

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        encoder.tokenize(text for example in examples for text in example.texts)
        return [window for number, example in enumerate(examples) for window in self._windows(number, example, encoder)]

    def _windows(self, number: int, example: Example, encoder: Encoder) -> list[EncodedExample]:
        question, (ids, offsets) = encoder.tokens(example.texts[0])[0], encoder.tokens(example.texts[1])
        room = encoder.room(2)
        asked = question[: room // 2]
        encoder.note_truncation(example.texts[0], len(question), len(asked))
        size = room - len(asked)
        answer = tokens_of(example, offsets)
        found = []
        for start in encoder.windows(ids, size, min(encoder.cut.stride or max(size // 2, 1), size)):
            part = ids[start : start + size]
            sequence = encoder.sequence([asked, part])
            first = encoder.input_format.before + len(asked) + encoder.input_format.between
            spread = np.full((len(sequence.ids), 2), -1)
            spread[first : first + len(part)] = offsets[start : start + size]
            none = 0 if encoder.input_format.reading == "first" else len(sequence.ids) - 1
            found.append(EncodedExample((number,), (sequence,), _target(answer, start, len(part), first, none), spread))
        return found

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        objective = read.objective
        assert isinstance(objective, Extract)
        best: list[tuple[float, Span | None]] = [(-np.inf, None)] * len(examples)
        nothing = np.full(len(examples), np.inf)
        for window, table in zip(read.encoded, read.scores):
            number = window.examples[0]
            assert window.offsets is not None
            text = window.offsets[:, 0] >= 0
            if isinstance(objective, AnswerableSpan):
                start, end, score = best_of_starts(table, text, objective.longest)
                none = float(table[0, UNANSWERABLE])
            else:
                start, end, score = best_span(table, text, objective.longest)
                none = table[0 if objective.reading == "first" else len(table) - 1].sum()
            nothing[number] = min(nothing[number], none)  # every window must say that there is no answer
            if score > best[number][0]:
                where = int(window.offsets[start, 0]), int(window.offsets[end, 1])
                best[number] = score, trimmed(examples[number].texts[1], *where)
        found = []
        for (score, span), none in zip(best, nothing.tolist()):
            known = 0.0 if isinstance(objective, AnswerableSpan) else score
            said = None if objective.none and none > known else span
            found.append(Answer(said.text if said else "", {"answer": float(score), "none": none}, said))
        return found

    def baseline(self, task: LabelledTask) -> Baseline:
        """Of all places without a telling word of the question, the one nearest to many of them; dev chooses its length."""
        rarity = InverseDocumentFrequency(example.texts[1] for example in task.train)
        return best_on_dev(
            task,
            "between words of the question",
            "{} words",
            LENGTHS,
            lambda length: lambda example: between_shared_words(example, length, rarity),
        )

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        return columns(by_length(task, predicted), "characters of the right answer", task.metrics[0], note)

    def mistake(self, example: Example, line: Line) -> float | None:
        """An answer that is no part of a right one, nor a right one of it."""
        said, right = line["answer"], example.references
        near = said in right or any(one and said and (one in said or said in one) for one in right)
        return None if near else float(line["scores"]["answer"] - line["scores"]["none"]) * (1 if said else -1)

    def shown(self, example: Example, answer: Any) -> str:
        said = answer if isinstance(answer, str) else example.references[0]
        return said or "no answer"


def tokens_of(example: Example, offsets: np.ndarray) -> tuple[int, int] | None | bool:
    """(first, last) token of the first right answer; None: there is none; False: it is not known, or no token stands for it."""
    if example.label == ():
        return None
    if not example.placed:
        return False
    answer = example.placed[0]
    inside = np.flatnonzero(
        (offsets[:, 1] > answer.start) & (offsets[:, 0] < answer.end) & (offsets[:, 1] > offsets[:, 0])
    )
    return (int(inside[0]), int(inside[-1])) if len(inside) else False


def _target(answer: tuple[int, int] | None | bool, start: int, length: int, first: int, none: int) -> np.ndarray | None:
    """Places in the sequence of a window that begins at token `start`; what is not whole in it is not in it."""
    if isinstance(answer, bool):
        return None
    if answer is not None and start <= answer[0] and answer[1] < start + length:
        return np.asarray(answer) - start + first
    return np.asarray([none, none])


def best_span(table: np.ndarray, text: np.ndarray, longest: int) -> tuple[int, int, float]:
    """(start, end, score) of the best pair with start <= end < start + longest, both in the text. table [positions, 2]."""
    starts, ends = (np.where(text, column.astype(np.float64), -np.inf) for column in table.T)
    found = (0, 0, -np.inf)
    for length in range(min(longest, len(text))):
        both = starts[: len(starts) - length] + ends[length:]
        place = int(both.argmax())
        if both[place] > found[2]:
            found = place, place + length, float(both[place])
    return found


def best_of_starts(table: np.ndarray, text: np.ndarray, longest: int) -> tuple[int, int, float]:
    """The same where every row is one likely start and what is then said of each end."""
    found = (0, 0, -np.inf)
    for row in table:
        start, score = int(row[START]), float(row[CHANCE])
        ends = np.where(text, row[ENDS:].astype(np.float64), -np.inf)[start : start + longest]
        if text[start] and score + ends.max() > found[2]:
            found = start, start + int(ends.argmax()), score + float(ends.max())
    return found


def trimmed(text: str, start: int, end: int) -> Span:
    """Without white space at the ends: a token of GPT-2 holds the space before its word."""
    while start < end - 1 and text[start].isspace():
        start += 1
    while end > start + 1 and text[end - 1].isspace():
        end -= 1
    return Span(start, end, text[start:end])


def between_shared_words(example: Example, length: int, rarity: InverseDocumentFrequency) -> str:
    question, context = example.texts
    asked = set(words(question))
    found = list(WORD.finditer(context))
    length = min(length, len(found))
    if not length:
        return ""
    weights = np.asarray([rarity.of(one[0].lower()) if one[0].lower() in asked else 0.0 for one in found])
    before, after = _faded(weights), _faded(weights[::-1])[::-1]
    starts = np.arange(len(found) - length + 1)
    inside = np.convolve(weights > 0, np.ones(length), "valid")
    score = before[starts] + after[starts + length - 1] - np.where(inside > 0, 1e6 * inside, 0.0)
    start = int(score.argmax())
    return context[found[start].start() : found[start + length - 1].end()]


def _faded(weights: np.ndarray) -> np.ndarray:
    """At each place, what stands before it, the further away the less."""
    found, sum_ = np.zeros(len(weights)), 0.0
    for place, weight in enumerate(weights):
        found[place] = sum_
        sum_ = NEAR * (sum_ + weight)
    return found


def by_length(task: LabelledTask, predicted: Sequence[Prediction]) -> list[tuple[str, int, float]]:
    """(length of the shortest right answer, number of questions of this length, the metric's mean over them)"""
    judged = task.measure.judge(task.test, predicted)
    lengths = np.asarray([min(map(len, one.references)) for one in task.test])
    bins = np.searchsorted(BINS, lengths, side="right")
    names = ["no answer", *(f"{first} to {after - 1}" for first, after in zip(BINS, BINS[1:])), f"{BINS[-1]} or more"]
    scores = np.asarray(judged, float)
    return [(names[one], int((bins == one).sum()), float(scores[bins == one].mean())) for one in np.unique(bins)]
