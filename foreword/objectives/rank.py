"""Rank: the candidates of one query against each other: a softmax over their scores (Liu et al. 2019, MT-DNN, eq. 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from foreword.batches.encoded import EncodedExample
from foreword.networks.base import Model, Output
from foreword.objectives.base import Batch, Charge
from foreword.objectives.choose import sequence_scores, side_by_side
from foreword.objectives.examples import ExampleBatch, FromSequences, charged
from foreword.objectives.layout import filled_up
from foreword.parts.task_heads import SequenceHead


class Rank(FromSequences):
    """A score for each candidate. The right ones share one unit of probability, each by its relevance."""

    kind: Literal["rank"] = "rank"
    pipeline: ClassVar[str] = "text-ranking"
    outputs: ClassVar[int] = 1
    gamma: float = 1.0  # sharpness of the softmax in training

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.gamma > 0 else [("gamma", f"gamma must be more than 0 (it says {self.gamma:g}).")]

    def head(self, width: int) -> SequenceHead:
        return self.sequence_head(width, 1, bias=self.reading != "last")

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return torch.from_numpy(filled_up([_shares(one) for one in examples], np.nan, np.float32))

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        return sequence_scores(model.heads[self.name], self.states(model, output, batch), batch)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        asked = charged(shares := batch.targets[self.name])
        table = side_by_side([self.gamma * each for each in self.scores(model, output, batch)])
        logs = table.log_softmax(1)[asked]
        return {self.name: Charge(-(shares[asked].nan_to_num()[:, : logs.size(1)] * logs).sum())}


def _shares(one: EncodedExample) -> np.ndarray:
    """Of a query nothing of whose candidates is right, nothing can be learned."""
    if one.target is None or one.target.sum() <= 0:
        return np.full(len(one.sequences), np.nan)
    return one.target / one.target.sum()
