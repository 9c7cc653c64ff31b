"""Ranking, learned: the candidates of a query against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.objectives.examples import FromExamples
from foreword.objectives.rank import Rank
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer


class RankTransfer:
    """The candidates of one query are one encoded example: they are weighed against each other."""

    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> Rank:
        return Rank(reading=reading, dropout=dropout)

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        encoder.tokenize(text for example in examples for text in example.texts)
        groups: dict[str, list[int]] = {}
        for number, example in enumerate(examples):
            groups.setdefault(example.group, []).append(number)
        return [EncodedExample(tuple(members), tuple(encoder.encode(*examples[number].texts) for number in members),
                        _relevance([examples[number] for number in members])) for members in groups.values()]

    def answers(self, examples: Sequence[Example], encoded: Sequence[EncodedExample], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        found = {number: float(score) for one, each in zip(encoded, scores) for number, score in zip(one.examples, each)}
        return [Answer(found[number]) for number in range(len(examples))]


def _relevance(members: Sequence[Example]) -> np.ndarray | None:
    if any(example.label is None for example in members):
        return None
    return np.asarray([example.label for example in members], np.float32)
