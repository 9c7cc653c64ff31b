"""The forms of labelled tasks: how examples of each kind become sequences and a target, and how scores become answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from foreword.batches.encoded import Encoded, Laid
from foreword.objectives.choose import Choose
from foreword.objectives.classify import Classify
from foreword.objectives.examples import FromExamples
from foreword.objectives.rank import Rank
from foreword.objectives.regress import Regress
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example, Span
from foreword.transfer.writer import Writer


@dataclass(frozen=True)
class Answer:
    """What a model says of one example, and how sure it is."""

    label: Any                           # as it is judged: of a span its text, "" for none
    scores: dict[str, float] = field(default_factory=dict)
    span: Span | None = None             # where it stands


class Form(Protocol):
    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> FromExamples:
        """What is learned, as the training examples show it."""

    def encode(self, examples: Sequence[Example], labels: Sequence[str], writer: Writer) -> list[Encoded]:
        """What is learned from, or asked. Several of one example are windows."""

    def answers(self, examples: Sequence[Example], encoded: Sequence[Encoded], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        """For each example, from what the objective's head says of each encoded one."""


class Classes:
    """A text or a pair: one sequence, or windows whose mean decides."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Classify:
        return Classify(labels=tuple(labels), reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], writer: Writer) -> list[Encoded]:
        writer.learn(text for example in examples for text in example.texts)
        place = {label: np.asarray(number) for number, label in enumerate(labels)}
        return [Encoded((number,), tuple(self._sequences(example, writer)),
                        None if example.label is None else place[str(example.label)]) for number, example in enumerate(examples)]

    def _sequences(self, example: Example, writer: Writer) -> Iterable[Laid]:
        if not writer.cut.windows or len(example.texts) > 1:
            return [writer.write(*example.texts)]
        ids, room = writer.pieces(example.texts[0])[0], writer.room(1)
        starts = writer.windows(ids, room, writer.cut.stride or max(room // 2, 1))
        return [writer.lay([ids[start: start + room]]) for start in starts]

    def answers(self, examples: Sequence[Example], encoded: Sequence[Encoded], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        labels: Sequence[str] = objective.labels          # type: ignore[attr-defined]
        return [Answer(labels[int(one.argmax())], dict(zip(labels, softmax(one).tolist()))) for one in scores]


class Numbers:
    """A pair and a number; where the way is to read in both orders, both are."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Regress:
        return Regress(reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], writer: Writer) -> list[Encoded]:
        writer.learn(text for example in examples for text in example.texts)
        return [Encoded((number,), self._sequences(example, writer), _number(example)) for number, example in enumerate(examples)]

    def _sequences(self, example: Example, writer: Writer) -> tuple[Laid, ...]:
        one = writer.write(*example.texts)
        return (one, writer.write(*reversed(example.texts))) if writer.way.both_orders else (one,)

    def answers(self, examples: Sequence[Example], encoded: Sequence[Encoded], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        return [Answer(float(one)) for one in scores]


class Choices:
    """One sequence for each answer."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Choose:
        return Choose(reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], writer: Writer) -> list[Encoded]:
        read = [[writer.way.choice(example.texts, answer) for answer in example.choices] for example in examples]
        writer.learn(text for choices in read for pair in choices for text in pair)
        return [Encoded((number,), tuple(writer.write(*pair) for pair in pairs), _number(example))
                for number, (example, pairs) in enumerate(zip(examples, read))]

    def answers(self, examples: Sequence[Example], encoded: Sequence[Encoded], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        return [Answer(int(one.argmax()), {str(place): share for place, share in enumerate(softmax(one).tolist())})
                for one in scores]


class Candidates:
    """The candidates of one query are one encoded example: they are weighed against each other."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Rank:
        return Rank(reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], writer: Writer) -> list[Encoded]:
        writer.learn(text for example in examples for text in example.texts)
        groups: dict[str, list[int]] = {}
        for number, example in enumerate(examples):
            groups.setdefault(example.group, []).append(number)
        return [Encoded(tuple(members), tuple(writer.write(*examples[number].texts) for number in members),
                        _relevance([examples[number] for number in members])) for members in groups.values()]

    def answers(self, examples: Sequence[Example], encoded: Sequence[Encoded], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        found = {number: float(score) for one, each in zip(encoded, scores) for number, score in zip(one.examples, each)}
        return [Answer(found[number]) for number in range(len(examples))]


def _number(example: Example) -> np.ndarray | None:
    return None if example.label is None else np.asarray(example.label)


def _relevance(members: Sequence[Example]) -> np.ndarray | None:
    if any(example.label is None for example in members):
        return None
    return np.asarray([example.label for example in members], np.float32)


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()
