"""Similarity, learned: a number for a pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreword.batches.encoded import EncodedExample, EncodedText
from foreword.objectives.examples import FromExamples
from foreword.objectives.regress import Regress
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, number_of_label


class SimilarityTransfer:
    """A pair and a number; where the way is to read in both orders, both are."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Regress:
        return Regress(reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        encoder.tokenize(text for example in examples for text in example.texts)
        return [EncodedExample((number,), self._sequences(example, encoder), number_of_label(example))
                for number, example in enumerate(examples)]

    def _sequences(self, example: Example, encoder: Encoder) -> tuple[EncodedText, ...]:
        one = encoder.encode(*example.texts)
        return (one, encoder.encode(*reversed(example.texts))) if encoder.input_format.both_orders else (one,)

    def answers(self, examples: Sequence[Example], encoded: Sequence[EncodedExample], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        return [Answer(float(one)) for one in scores]
