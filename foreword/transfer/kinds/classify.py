"""Classification, learned: one sequence for a text or a pair, and a softmax over the classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from foreword.batches.encoded import EncodedExample, EncodedText
from foreword.objectives.classify import Classify
from foreword.objectives.examples import FromExamples
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, softmax


class ClassifyTransfer:
    """A text or a pair: one sequence, or windows whose mean decides."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Classify:
        return Classify(labels=tuple(labels), reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        encoder.tokenize(text for example in examples for text in example.texts)
        place = {label: np.asarray(number) for number, label in enumerate(labels)}
        return [EncodedExample((number,), tuple(self._sequences(example, encoder)),
                        None if example.label is None else place[str(example.label)]) for number, example in enumerate(examples)]

    def _sequences(self, example: Example, encoder: Encoder) -> Iterable[EncodedText]:
        if not encoder.cut.windows or len(example.texts) > 1:
            return [encoder.encode(*example.texts)]
        ids, room = encoder.tokens(example.texts[0])[0], encoder.room(1)
        starts = encoder.windows(ids, room, encoder.cut.stride or max(room // 2, 1))
        return [encoder.sequence([ids[start: start + room]]) for start in starts]

    def answers(self, examples: Sequence[Example], encoded: Sequence[EncodedExample], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        labels: Sequence[str] = objective.labels          # type: ignore[attr-defined]
        return [Answer(labels[int(one.argmax())], dict(zip(labels, softmax(one).tolist()))) for one in scores]
