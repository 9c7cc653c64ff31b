"""Tag: a class for each word, read at its first piece (Devlin et al. 2018, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from foreword.batches.encoded import EncodedExample
from foreword.networks.base import Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.examples import ExampleBatch, FromExamples, Unit
from foreword.objectives.layout import padded
from foreword.parts.task_heads import PositionHead


class Tag(FromExamples):
    """Every example is one sequence; its target has a tag at the first piece of each word and NOTHING elsewhere."""

    kind: Literal["tag"] = "tag"
    pipeline: ClassVar[str] = "token-classification"
    unit: ClassVar[Unit] = "value"
    labels: tuple[str, ...]

    def head(self, width: int) -> PositionHead:
        return PositionHead(width, len(self.labels), self.dropout)

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return padded([np.full(one.length, NOTHING) if one.target is None else one.target for one in examples], NOTHING)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        targets = batch.targets[self.name]
        asked = targets != NOTHING
        logits = model.heads[self.name](output.last[asked])
        return {self.name: Charge(F.cross_entropy(logits, targets[asked], reduction="sum"))}

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        logits = model.heads[self.name](output.last)
        return [one[there] for one, there in zip(logits, batch.there)]
