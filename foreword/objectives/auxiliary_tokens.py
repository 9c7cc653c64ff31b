"""ReadAlong: beside its label, guess every next token of a labelled example (Radford et al. 2018, eq. 5)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from foreword.batches.row import Row
from foreword.networks.base import Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective
from foreword.objectives.examples import ExampleBatch, examples_of, to_batch
from foreword.objectives.layout import padded
from foreword.tokens.tokenizer import Tokenizer


class AuxiliaryTokens(Objective):
    """A sequence costs the mean of its tokens, so that its weight means the same for long examples and short ones."""

    kind: Literal["read_along"] = "read_along"
    labelled: ClassVar[bool] = True

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> ExampleBatch:
        examples = examples_of(rows)
        targets = padded(
            [np.append(one.ids[1:], NOTHING) for example in examples for one in example.sequences], NOTHING
        )
        return to_batch(examples, tokenizer, "last", {"tokens": targets}, {"tokens": "sequence"})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return {"tokens": Charge(self.each(model, output, batch.targets["tokens"]).sum())}

    def each(self, model: Model, output: Output, targets: Tensor) -> Tensor:
        """[sequences] the mean charge of a guess in each."""
        guessed = targets != NOTHING
        nll = model.heads["tokens"].nll(output.last[guessed], targets[guessed])
        owner = torch.arange(len(targets), device=targets.device)[:, None].expand_as(targets)[guessed]
        totals = torch.zeros(len(targets), dtype=nll.dtype, device=nll.device).index_add(0, owner, nll)
        return totals / guessed.sum(1).clamp(min=1)

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        return f"{int((batch.rows(row, row + 1).targets['tokens'] != NOTHING).sum())} tokens guessed along the way"
