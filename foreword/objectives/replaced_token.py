"""ReplacedToken: which tokens are not the author's? A generator fills what is hidden, and its drafts are looked for.

Clark et al. 2020 (ELECTRA), section 2. The generator learns as a masked language model; nothing is learned through its draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.batches.row import Row
from foreword.networks.base import Model, Network, Output, State
from foreword.networks.generator_discriminator import GeneratorDiscriminator
from foreword.objectives.base import NOTHING, Batch, Charge, Loss, MakeTokenHead
from foreword.objectives.layout import filled_up
from foreword.objectives.masked import Masked
from foreword.parts.heads import PositionScore
from foreword.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class DraftBatch(Batch):
    """A masked batch, and for each position the number between 0 and 1 by which its draft is drawn."""

    draw: Tensor  # [batch, positions]

    def rows(self, start: int, stop: int) -> DraftBatch:
        part = super().rows(start, stop)
        return replace(self, inputs=part.inputs, targets=part.targets, draw=self.draw[start:stop])

    def to(self, device: torch.device | str) -> DraftBatch:
        moved = super().to(device)
        return replace(self, inputs=moved.inputs, targets=moved.targets, draw=self.draw.to(device))


class ReplacedToken(Masked):
    """The target of "replaced" is the author's own token at every position; whether it is still there, only the draft shows."""

    kind: Literal["replaced_token"] = "replaced_token"  # type: ignore[assignment]
    networks: ClassVar[tuple[str, ...]] = ("generator_discriminator",)
    hidden: float = 0.85  # of the positions to guess: shown as [mask]; the rest as they are (the authors' code)
    random: float = 0.0
    weight: float = 50.0  # of the discriminator's loss beside the generator's

    def abilities(self) -> dict[str, frozenset[str]]:
        return {}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        if not isinstance(network, GeneratorDiscriminator):
            raise TypeError("replaced tokens need a generator and a discriminator")
        narrow = network.generator
        return {"tokens": token_head(narrow.width, narrow.table()), "replaced": PositionScore(network.width)}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> DraftBatch:
        made = super().collate(rows, tokenizer)
        hidden = made.targets["tokens"]
        original = torch.where(hidden == NOTHING, made.inputs.ids, hidden)
        if made.inputs.real is not None:
            original = original.masked_fill(~made.inputs.real, NOTHING)
        length = made.inputs.ids.size(1)
        draw = torch.from_numpy(filled_up([row.chance.random(length) for row in rows], 0.0, np.float64))
        return DraftBatch(made.inputs, {**made.targets, "replaced": original}, draw=draw)

    def loss(self, model: Model, batch: Batch, state: State = None) -> Loss:
        if not isinstance(batch, DraftBatch) or not isinstance(model.network, GeneratorDiscriminator):
            raise TypeError("replaced tokens need a generator, a discriminator and a batch to draft")
        hidden, original = batch.targets["tokens"] != NOTHING, batch.targets["replaced"]
        drafts = model.network.generator(batch.inputs).last[hidden]
        targets = batch.targets["tokens"][hidden]
        drawn = self.drafted(model.heads["tokens"].log_probs(drafts.detach()), batch.draw[hidden])
        there = original != NOTHING
        corrupt = torch.where(there, original, batch.inputs.ids).masked_scatter(hidden, drawn)
        output = model.network(replace(batch.inputs, ids=corrupt))
        scores, replaced = model.heads["replaced"](output.last)[there], (corrupt != original)[there]
        each = F.binary_cross_entropy_with_logits(scores, replaced.to(scores.dtype), reduction="none")
        return Loss(
            {
                "tokens": Charge(model.heads["tokens"].total(drafts, targets)),
                "replaced": Charge(each.sum(), self.weight),
                "found": Charge(each[replaced].sum().detach(), 0.0, int(replaced.sum())),
            },
            output.state,
            output.costs,
        )

    @staticmethod
    def drafted(log_probs: Tensor, draw: Tensor) -> Tensor:
        """[guesses, vocabulary], [guesses] in 0 to 1 -> a token of each distribution: the same row drafts the same tokens,
        whatever else is in the batch."""
        below = log_probs.exp().cumsum(-1)
        return torch.searchsorted(below, (draw.to(below) * below[:, -1])[:, None]).clamp(max=below.size(1) - 1)[:, 0]

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        raise TypeError("replaced tokens are not read off one pass of a network")
