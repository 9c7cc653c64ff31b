"""Multiple choice, learned: one sequence for each answer, and a softmax over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.report import Plot
from foreword.report.plots import COUNTS, confusion, confusion_matrix
from foreword.tasks.example import Example, Prediction
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline, best_on_dev
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, Line, TransferKind, softmax
from foreword.transfer.word_overlap import POWERS, InverseDocumentFrequency


class ChoiceTransfer(TransferKind):
    objectives: ClassVar[tuple[str, ...]] = ("choose",)
    caption: ClassVar[str] = f"Places of the choices. {COUNTS}"

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        read = [
            [encoder.input_format.choice(example.texts, answer) for answer in example.choices] for example in examples
        ]
        encoder.tokenize(text for choices in read for pair in choices for text in pair)
        return [
            EncodedExample((number,), tuple(encoder.encode(*pair) for pair in pairs), self.target(example, labels))
            for number, (example, pairs) in enumerate(zip(examples, read))
        ]

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        return [
            Answer(int(one.argmax()), {str(place): share for place, share in enumerate(softmax(one).tolist())})
            for one in read.scores
        ]

    def combined(self, lines: Sequence[Line]) -> int:
        return int(super().combined(lines))

    def baseline(self, task: LabelledTask) -> Baseline:
        """The answer that shares the rarest words with what is asked, in all or for each of its own."""
        rarity = InverseDocumentFrequency(text for example in task.train for text in (*example.texts, *example.choices))

        def rule(power: float) -> Callable[[Example], int]:
            def one(example: Example) -> int:
                asked = " ".join(example.texts)
                return int(np.argmax([rarity.weight(asked, answer, power) for answer in example.choices]))

            return one

        return best_on_dev(task, "most shared words", "length to the power {}", POWERS, rule)

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        """Which place the right choice had, and which was chosen: a model that knows nothing may have a favourite."""
        places = [str(number + 1) for number in range(max(len(one.choices) for one in task.test))]
        true = [places[int(one.number)] for one in task.test]
        return confusion_matrix(confusion(true, [places[int(one)] for one in predicted], places), places, note)

    def shown(self, example: Example, answer: Any) -> str:
        return example.choices[int(answer)]
