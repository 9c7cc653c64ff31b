"""Multiple choice, learned: one sequence for each answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.objectives.choose import Choose
from foreword.objectives.examples import FromExamples
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, number_of_label, softmax


class ChoiceTransfer:
    """One sequence for each answer."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Choose:
        return Choose(reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        read = [[encoder.input_format.choice(example.texts, answer) for answer in example.choices] for example in examples]
        encoder.tokenize(text for choices in read for pair in choices for text in pair)
        return [EncodedExample((number,), tuple(encoder.encode(*pair) for pair in pairs), number_of_label(example))
                for number, (example, pairs) in enumerate(zip(examples, read))]

    def answers(self, examples: Sequence[Example], encoded: Sequence[EncodedExample], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        return [Answer(int(one.argmax()), {str(place): share for place, share in enumerate(softmax(one).tolist())})
                for one in scores]
