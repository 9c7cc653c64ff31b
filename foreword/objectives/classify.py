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
    gain: Literal["end", "linear"] = (
        "end"  # where the class is charged; at every token, from 1/T to T/T of it (Dai & Le 2015)
    )

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if len(self.labels) < 2:
            found.append(("labels", f"there must be at least two classes (it says {list(self.labels)})."))
        if self.gain == "linear" and (self.reading, self.read) != ("last", "place"):
            found.append(("gain", "a linear gain is for networks that read from left to right, with read = 'place'."))
        return found

    def head(self, width: int) -> SequenceHead:
        return self.sequence_head(width, len(self.labels), bias=self.reading != "last")

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        return numbers(examples, torch.long, NOTHING)

    def logits(self, model: Model, output: Output, batch: ExampleBatch) -> Tensor:
        return model.heads[self.name](joined(self.states(model, output, batch), batch.counts, "mean"))

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        assert isinstance(batch, ExampleBatch)
        if self.gain == "linear":
            return {self.name: Charge(self.rising(model.heads[self.name](output.last), batch))}
        logits = self.logits(model, output, batch)
        return {
            self.name: Charge(F.cross_entropy(logits, batch.targets[self.name], ignore_index=NOTHING, reduction="sum"))
        }

    def rising(self, logits: Tensor, batch: ExampleBatch) -> Tensor:
        """logits [sequences, positions, classes]: token t of T charges t/T of what guessing the class there costs."""
        counts = torch.tensor(batch.counts, device=logits.device)
        wanted = batch.targets[self.name].repeat_interleave(counts)[:, None].expand(logits.shape[:2])
        nats = F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=NOTHING, reduction="none")
        shares = (batch.there * batch.there.cumsum(1)).to(nats) / batch.there.sum(1, keepdim=True)
        return (nats * shares / counts.repeat_interleave(counts)[:, None]).sum()

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        return list(self.logits(model, output, batch))
