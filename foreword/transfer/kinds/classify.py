"""Classification, learned: one sequence for a text or a pair, or windows whose mean decides, and a softmax over the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from foreword.batches.encoded import EncodedText
from foreword.objectives.classify import Classify
from foreword.report import Plot
from foreword.report.plots import COUNTS, confusion, confusion_matrix
from foreword.tasks.example import Example, Prediction
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer import baselines
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, TransferKind, softmax


class ClassifyTransfer(TransferKind):
    objectives: ClassVar[tuple[str, ...]] = ("classify",)
    caption: ClassVar[str] = COUNTS
    regresses: ClassVar[bool] = True

    def sequences(self, example: Example, encoder: Encoder) -> tuple[EncodedText, ...]:
        if not encoder.cut.windows or len(example.texts) > 1:
            return super().sequences(example, encoder)
        ids, room = encoder.tokens(example.texts[0])[0], encoder.room(1)
        starts = encoder.windows(ids, room, encoder.cut.stride or max(room // 2, 1))
        return tuple(encoder.sequence([ids[start : start + room]]) for start in starts)

    def target(self, example: Example, labels: Sequence[str]) -> np.ndarray | None:
        return None if example.label is None else np.asarray(labels.index(str(example.label)))

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        assert isinstance(read.objective, Classify)
        labels = read.objective.labels
        return [Answer(labels[int(one.argmax())], dict(zip(labels, softmax(one).tolist()))) for one in read.scores]

    def regression(self, strength: float) -> Any:
        linear = baselines.library("sklearn.linear_model")  # on counts newton-cg is ten times as fast as lbfgs
        return linear.LogisticRegression(C=strength, solver="newton-cg", max_iter=200)

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        return confusion_matrix(
            confusion([str(one.label) for one in task.test], predicted, task.labels), task.labels, note
        )


class PairTransfer(ClassifyTransfer):
    objectives: ClassVar[tuple[str, ...]] = ("classify", "stepwise")
