"""Similarity, learned: a number for a pair; a causal network reads both orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from foreword.batches.encoded import EncodedText
from foreword.report import Plot
from foreword.report.plots import scatter
from foreword.tasks.example import Example, Prediction
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer import baselines
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, Line, TransferKind


class SimilarityTransfer(TransferKind):
    objectives: ClassVar[tuple[str, ...]] = ("regress",)
    caption: ClassVar[str] = "Every point is a pair; dotted: predictions that are right."
    regresses: ClassVar[bool] = True

    def sequences(self, example: Example, encoder: Encoder) -> tuple[EncodedText, ...]:
        one = encoder.encode(*example.texts)
        return (one, encoder.encode(*reversed(example.texts))) if encoder.input_format.both_orders else (one,)

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        return [Answer(float(one)) for one in read.scores]

    def regression(self, strength: float) -> Any:
        return baselines.library("sklearn.linear_model").Ridge(alpha=1 / strength, solver="auto")

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        return scatter([example.number for example in task.test], predicted, note)

    def mistake(self, example: Example, line: Line) -> float | None:
        return abs(float(line["answer"]) - example.number) or None
