"""Extract: where does the answer start and where does it end? (Devlin et al. 2018, sections 4.2 and 4.3)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.basics.numbers import Below1, Size
from foreword.batches.encoded import EncodedExample
from foreword.networks.base import Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.examples import ExampleBatch, FromExamples
from foreword.parts.task_heads import PositionHead


class Extract(FromExamples):
    """Every example is one window. Its target is the places of the first and last token of the answer; where the window has
    none, both are the place a sequence is read at: the first token, or the last for a causal network.
    """

    kind: Literal["span"] = "span"
    pipeline: ClassVar[str] = "question-answering"
    dropout: Below1 = 0.0
    longest: Size = 30  # tokens of an answer (Google's code)
    none: bool = False  # "no answer" is an answer

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.longest > 0 else [("longest", f"an answer has at least 1 token (it says {self.longest}).")]

    def head(self, width: int) -> PositionHead:
        return PositionHead(width, 2, self.dropout)

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return torch.from_numpy(
            np.stack([np.full(2, NOTHING) if one.target is None else one.target for one in examples])
        )

    def table(self, model: Model, output: Output, batch: ExampleBatch) -> Tensor:
        """[sequences, positions, 2]: scores as start and as end; padding is neither."""
        scores = model.heads[self.name](output.last)
        return scores.masked_fill(~batch.there[..., None], torch.finfo(scores.dtype).min)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        table, targets = self.table(model, output, batch), batch.targets[self.name]
        both = F.cross_entropy(table, targets, ignore_index=NOTHING, reduction="sum")  # classes are the positions
        return {self.name: Charge(both / 2)}

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        return [one[there] for one, there in zip(self.table(model, output, batch), batch.there)]
