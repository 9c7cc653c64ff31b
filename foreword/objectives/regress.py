"""Regress: a number for a pair of texts. A causal network reads both orders, and their vectors are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor

from foreword.batches.encoded import EncodedExample
from foreword.networks.base import Model, Output
from foreword.objectives.base import Batch, Charge
from foreword.objectives.examples import ExampleBatch, FromSequences, charged, joined, numbers
from foreword.parts.task_heads import SequenceHead


class Regress(FromSequences):
    kind: Literal["regress"] = "regress"
    pipeline: ClassVar[str] = "text-classification"
    problem_type: ClassVar[str] = "regression"
    outputs: ClassVar[int] = 1

    def head(self, width: int) -> SequenceHead:
        return self.sequence_head(width, 1, bias=self.reading != "last")

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return numbers(examples, torch.float32, float("nan"))

    def values(self, model: Model, output: Output, batch: ExampleBatch) -> Tensor:
        return model.heads[self.name](joined(self.states(model, output, batch), batch.counts, "sum"))[:, 0]

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        asked = charged(targets := batch.targets[self.name])
        return {self.name: Charge((self.values(model, output, batch)[asked] - targets[asked]).square().sum())}

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        return list(self.values(model, output, batch))
