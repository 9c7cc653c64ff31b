"""Classify: which class is a text, or a pair of texts, of? (Radford et al. 2018, eq. 3; Devlin et al. 2018, section 4.1)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.batches.encoded import EncodedExample
from foreword.networks.base import Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.examples import ExampleBatch, FromSequences, joined, numbers
from foreword.parts.task_heads import SequenceHead


class Classify(FromSequences):
    """A softmax over classes, from one vector; of several windows of one text, from their mean."""

    kind: Literal["classify"] = "classify"
    pipeline: ClassVar[str] = "text-classification"
    problem_type: ClassVar[str] = "single_label_classification"
    labels: tuple[str, ...]

    def faults(self) -> list[tuple[str, str]]:
        return (
            []
            if len(self.labels) > 1
            else [("labels", f"there must be at least two classes (it says {list(self.labels)}).")]
        )

    def head(self, width: int) -> SequenceHead:
        return self.sequence_head(width, len(self.labels), bias=self.reading != "last")

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return numbers(examples, torch.long, NOTHING)

    def logits(self, model: Model, output: Output, batch: ExampleBatch) -> Tensor:
        return model.heads[self.name](joined(self.states(model, output, batch), batch.counts, "mean"))

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        logits = self.logits(model, output, batch)
        return {
            self.name: Charge(F.cross_entropy(logits, batch.targets[self.name], ignore_index=NOTHING, reduction="sum"))
        }

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        return list(self.logits(model, output, batch))
