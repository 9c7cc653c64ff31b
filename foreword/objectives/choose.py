"""Choose: one sequence for each answer, one score for each sequence, a softmax over the answers (Radford et al. 2018, 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.batches.encoded import EncodedExample
from foreword.networks.base import Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.examples import ExampleBatch, FromSequences, numbers
from foreword.parts.task_heads import SequenceHead


class Choose(FromSequences):
    """The right one of several answers; how many there are may differ from example to example."""

    kind: Literal["choose"] = "choose"
    pipeline: ClassVar[str] = "multiple-choice"

    def head(self, width: int) -> SequenceHead:
        return self.sequence_head(width, 1, bias=True)

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return numbers(examples, torch.long, NOTHING)

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        return sequence_scores(model.heads[self.name], self.states(model, output, batch), batch)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        table = side_by_side(self.scores(model, output, batch))
        return {
            self.name: Charge(F.cross_entropy(table, batch.targets[self.name], ignore_index=NOTHING, reduction="sum"))
        }


def sequence_scores(head: SequenceHead, states: Tensor, batch: ExampleBatch) -> list[Tensor]:
    """For each example a score of each of its sequences."""
    scores = head(states)[:, 0]
    return list(scores.split(list(batch.counts)))


def side_by_side(scores: Sequence[Tensor]) -> Tensor:
    """[examples, most answers]; an answer that is not there, where others have more of them, is out of the question."""
    return torch.nn.utils.rnn.pad_sequence(
        list(scores), batch_first=True, padding_value=torch.finfo(scores[0].dtype).min / 2
    )
