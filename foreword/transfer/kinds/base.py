"""What every kind of labelled task says of learning it: objective, encoding and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.objectives.examples import FromExamples
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example, Span
from foreword.transfer.encoding import Encoder


@dataclass(frozen=True)
class Answer:
    """What a model says of one example, and how sure it is."""

    label: Any                           # as it is judged: of a span its text, "" for none
    scores: dict[str, float] = field(default_factory=dict)
    span: Span | None = None             # where it stands


class TransferKind(Protocol):
    def objective(self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()) -> FromExamples:
        """What is learned, as the training examples show it."""

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        """What is learned from, or asked. Several of one example are windows."""

    def answers(self, examples: Sequence[Example], encoded: Sequence[EncodedExample], scores: Sequence[np.ndarray],
                objective: FromExamples) -> list[Answer]:
        """For each example, from what the objective's head says of each encoded one."""


def number_of_label(example: Example) -> np.ndarray | None:
    return None if example.label is None else np.asarray(example.label)


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()
