"""Asking a fine-tuned model: sequences of like length together, answers in the order of the examples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foreword.batches.by_length import by_length
from foreword.batches.encoded import EncodedExample
from foreword.batches.examples import row_of
from foreword.networks.base import Model
from foreword.objectives.examples import FromExamples
from foreword.tasks.example import Example, Prediction
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.transfer.kinds.base import Answer, HeadScores, TransferKind

AT_ONCE = 64  # examples in a batch that is only read

Watch = Callable[[float], None]  # given how much has been read, 0 to 1


@dataclass(frozen=True)
class Answers:
    """What a model says of all examples of a split, and what each right answer costs it (not a number: none has a label)."""

    answers: list[Answer]
    loss: float

    @property
    def labels(self) -> list[Prediction]:
        """As they are judged."""
        return [answer.label for answer in self.answers]


@dataclass(frozen=True)
class ExampleReader:
    """A fine-tuned model, and what turns examples into its answers."""

    model: Model
    objective: FromExamples
    kind: TransferKind
    tokenizer: Tokenizer
    hardware: Hardware | None = None

    def answer(
        self, examples: Sequence[Example], encoded: Sequence[EncodedExample], watch: Watch | None = None
    ) -> Answers:
        scores, loss = head_scores(self.model, self.objective, encoded, self.tokenizer, self.hardware, watch=watch)
        read = HeadScores(encoded, scores, self.objective, self.tokenizer)
        return Answers(self.kind.answers(examples, read), loss)


@torch.no_grad()
def head_scores(
    model: Model,
    objective: FromExamples,
    encoded: Sequence[EncodedExample],
    tokenizer: Tokenizer,
    hardware: Hardware | None = None,
    at_once: int = AT_ONCE,
    watch: Watch | None = None,
) -> tuple[list[np.ndarray], float]:
    """(the head's scores of each, what a guess costs). Those of like length are read together; that changes nothing."""
    hardware = hardware or Hardware()
    model.eval()
    lengths = [one.length for one in encoded]
    found: dict[int, np.ndarray] = {}
    total, guesses, done = 0.0, 0, 0
    for places in by_length(lengths, sys.maxsize, at_once):
        batch = objective.collate([row_of(encoded[place]) for place in places], tokenizer).to(hardware.device)
        with hardware.autocast():
            output = model.network(batch.inputs)
            scores = objective.scores(model, output, batch)
            total += float(objective.charges(model, output, batch)[objective.name].total)
        guesses += batch.guesses[objective.name]
        found |= {place: score.double().cpu().numpy() for place, score in zip(places, scores)}
        done += sum(lengths[place] for place in places)
        if watch is not None:
            watch(done / sum(lengths))
    return [found[place] for place in range(len(encoded))], total / guesses if guesses else float("nan")
