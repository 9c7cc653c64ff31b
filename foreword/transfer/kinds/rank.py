"""Ranking, learned: the candidates of a query are one encoded example, and are weighed against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.report import Plot
from foreword.report.plots import histograms
from foreword.tasks.example import Example, Prediction, groups
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline, best_on_dev
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, Line, TransferKind
from foreword.transfer.word_overlap import POWERS, InverseDocumentFrequency


class RankTransfer(TransferKind):
    objectives: ClassVar[tuple[str, ...]] = ("rank",)
    caption: ClassVar[str] = "Scores of the relevant candidates and of the others."

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        encoder.tokenize(text for example in examples for text in example.texts)
        return [
            EncodedExample(
                tuple(members),
                tuple(encoder.encode(*examples[number].texts) for number in members),
                _relevance([examples[number] for number in members]),
            )
            for members in groups(examples).values()
        ]

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        found = {
            number: float(score)
            for one, each in zip(read.encoded, read.scores)
            for number, score in zip(one.examples, each)
        }
        return [Answer(found[number]) for number in range(len(examples))]

    def baseline(self, task: LabelledTask) -> Baseline:
        """The more and the rarer the words a candidate shares with the query, the better, in all or for each of its own."""
        rarity = InverseDocumentFrequency(text for example in task.train for text in example.texts)

        def rule(power: float) -> Callable[[Example], float]:
            return lambda example: rarity.weight(example.texts[0], example.texts[1], power)

        return best_on_dev(task, "most shared words", "length to the power {}", POWERS, rule)

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        relevant = np.asarray([one.number > 0 for one in task.test])
        scores = np.asarray(predicted, float)
        return histograms({"others": scores[~relevant].tolist(), "relevant": scores[relevant].tolist()}, "score", note)

    def mistake(self, example: Example, line: Line) -> float | None:
        """The score of a candidate that is not relevant."""
        return None if example.number > 0 else float(line["answer"])


def _relevance(members: Sequence[Example]) -> np.ndarray | None:
    if any(example.label is None for example in members):
        return None
    return np.asarray([example.label for example in members], np.float32)
