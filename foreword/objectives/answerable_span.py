"""AnswerableSpan: where an answer starts, where it then ends, and whether there is one (Yang et al. 2019, on SQuAD 2.0)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.basics.numbers import NotNegative, Size
from foreword.networks.base import Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.examples import ExampleBatch
from foreword.objectives.span import Extract
from foreword.parts.span_heads import AnswerableHead
from foreword.parts.task_heads import last

START, CHANCE, UNANSWERABLE, ENDS = range(
    4
)  # columns of what is said of a likely start; from ENDS on, a column each position


class AnswerableSpan(Extract):
    """An end is guessed given its start: the true one while learning, then each of the likeliest."""

    kind: Literal["answerable_span"] = "answerable_span"  # type: ignore[assignment]
    starts: Size = 5  # that are followed (start_n_top)
    weight: NotNegative = 0.5  # of the charge for whether there is an answer

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        return found + ([] if self.starts > 0 else [("starts", f"at least 1 is followed (it says {self.starts}).")])

    def head(self, width: int) -> AnswerableHead:  # type: ignore[override]
        return AnswerableHead(width)

    def allowed(self, batch: ExampleBatch) -> Tensor:
        """[sequences, positions]: the second text, and the place that stands for no answer."""
        there, place = batch.there, last(batch.there)[:, None]
        none = torch.arange(there.size(1), device=there.device) == place
        return there if batch.inputs.segments is None else there & ((batch.inputs.segments == 1) | none)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        head: AnswerableHead = model.heads[self.name]
        hidden, targets, allowed = output.last, batch.targets[self.name], self.allowed(batch)
        least = torch.finfo(hidden.dtype).min
        asked = targets[:, 0] != NOTHING
        starts = head.starts(hidden).masked_fill(~allowed, least)
        ends = head.ends(hidden, targets[:, :1].clamp(min=0))[:, 0].masked_fill(~allowed, least)
        total = F.cross_entropy(starts, targets[:, 0], ignore_index=NOTHING, reduction="sum")
        total = (total + F.cross_entropy(ends, targets[:, 1], ignore_index=NOTHING, reduction="sum")) / 2
        if self.none:
            place = last(batch.there)
            said = head.unanswerable(hidden, starts, place)[asked]
            true = (targets[:, 0] == place)[asked].to(said.dtype)
            total = total + self.weight * F.binary_cross_entropy_with_logits(said, true, reduction="sum")
        return {self.name: Charge(total)}

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        """For each window [starts, 3 + positions]: likely starts, their log-probabilities, the score of no answer, and the
        log-probabilities of the ends of each."""
        head: AnswerableHead = model.heads[self.name]
        hidden, allowed = output.last, self.allowed(batch)
        least = torch.finfo(hidden.dtype).min
        logits = head.starts(hidden).masked_fill(~allowed, least)
        inside = allowed & (torch.arange(allowed.size(1), device=allowed.device) != last(batch.there)[:, None])
        logs = logits.log_softmax(-1)
        best = logs.masked_fill(~inside, least).topk(min(self.starts, logs.size(1)), 1)
        ends = head.ends(hidden, best.indices).masked_fill(~allowed[:, None], least).log_softmax(-1)
        none = head.unanswerable(hidden, logits, last(batch.there))[:, None].expand_as(best.values)
        found = torch.cat([torch.stack([best.indices.to(logs), best.values, none], 2), ends], 2)
        return [one[:, : ENDS + int(there.sum())] for one, there in zip(found, batch.there)]
