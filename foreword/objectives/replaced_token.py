"""ReplacedToken: which tokens are not the author's? A generator fills what is hidden, and its drafts are looked for.

Clark et al. 2020 (ELECTRA), section 2. The generator learns as a masked language model; nothing is learned through its draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.messages import Fault
from foreword.basics.numbers import NotNegative, Share, Unbounded
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
    networks: ClassVar[tuple[str, ...]] = (
        "generator_discriminator",
        "bidirectional_transformer",
    )  # or one half, to be tuned
    measures: ClassVar[tuple[str, ...]] = ("generator_accuracy", "replaced_rate", "recall")
    hidden: Share = 0.85  # of the positions to guess: shown as [mask]; the rest as they are (the authors' code)
    random: Share = 0.0
    weight: NotNegative = 50.0  # of the discriminator's loss beside the generator's; 0: only the generator learns
    guess: Literal["replaced", "author"] = "replaced"  # whether a token was replaced, or which the author's was
    charged: Literal["all", "hidden"] = (
        "all"  # positions that the discriminator guesses: ELECTRA and All-Tokens MLM, or ELECTRA 15% and Replace MLM
    )
    generator: Literal["likelihood", "adversarial", "fixed"] = "likelihood"  # what it learns from (section 3.2)
    temperature: Unbounded = 1.0  # of the drafts; inf: any token, equally likely
    never_right: bool = False  # the author's token is never drafted (`disallow_correct` in the authors' code)

    def faults(self) -> list[tuple[str, str]]:
        if self.temperature > 0:
            return super().faults()
        return [*super().faults(), ("temperature", f"temperature must be above 0 (it says {self.temperature}).")]

    def abilities(self) -> dict[str, frozenset[str]]:
        return {}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        score = partial(PositionScore, network.width)
        wide = {"replaced": score() if self.guess == "replaced" else token_head(network.width, network.table())}
        if self.copies:
            wide["copy"] = score()
        if not isinstance(network, GeneratorDiscriminator):
            return wide  # a discriminator alone, whose generator was left behind
        narrow = network.generator
        return {"tokens": token_head(narrow.width, narrow.table()), **wide}

    @property
    def copies(self) -> bool:
        """Whether the author's token may be copied from what is read: All-Tokens MLM, where most of it is the author's."""
        return self.guess == "author" and self.charged == "all"

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> DraftBatch:
        made = super().collate(rows, tokenizer)
        hidden = made.targets["tokens"]
        original = hidden
        if self.charged == "all":
            original = torch.where(hidden == NOTHING, made.inputs.ids, hidden)
            if made.inputs.real is not None:
                original = original.masked_fill(~made.inputs.real, NOTHING)
        length = made.inputs.ids.size(1)
        draw = torch.from_numpy(filled_up([row.chance.random(length) for row in rows], 0.0, np.float64))
        return DraftBatch(made.inputs, {**made.targets, "replaced": original}, draw=draw)

    def loss(self, model: Model, batch: Batch, state: State = None) -> Loss:
        if not isinstance(batch, DraftBatch) or not isinstance(model.network, GeneratorDiscriminator):
            raise Fault("a discriminator without its generator learns from labels (finetune), not from text.")
        tokens, there = batch.targets["tokens"], batch.targets["replaced"] != NOTHING
        hidden = tokens != NOTHING
        original, targets = torch.where(hidden, tokens, batch.inputs.ids), tokens[hidden]
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.generator != "fixed"):
            narrow = model.network.generator(batch.inputs).last[hidden]
        logs = self.drafting(model.heads["tokens"].log_probs(narrow.detach()), targets)
        drawn = self.drafted(logs, batch.draw[hidden])
        corrupt = original.masked_scatter(hidden, drawn)
        output = model.network(replace(batch.inputs, ids=corrupt))
        replaced, wrong = (corrupt != original)[there], drawn != targets
        charges = {}
        if self.copies:
            charges["replaced"] = Charge(
                copied_or_written(model, output.last[there], corrupt[there], original[there]), self.weight
            )
        elif self.guess == "author":
            charges["replaced"] = Charge(model.heads["replaced"].total(output.last[hidden], targets), self.weight)
        else:
            scores = model.heads["replaced"](output.last)
            each = F.binary_cross_entropy_with_logits(scores, (corrupt != original).to(scores.dtype), reduction="none")
            found, count = (scores[there] > 0)[replaced], int(replaced.sum())
            charges["replaced"] = Charge(each[there].sum(), self.weight)
            charges["found"] = Charge(each[there][replaced].sum().detach(), 0.0, count)
            charges["recall"] = Charge(found.sum().to(scores.dtype), 0.0, count)
        if self.generator == "adversarial":  # it is rewarded by what its drafts cost the discriminator (REINFORCE)
            reward = each.detach()[hidden] if self.guess == "replaced" else wrong.to(narrow.dtype)
            chosen = model.heads["tokens"].log_probs(narrow).gather(1, drawn[:, None])[:, 0]
            charges = {"tokens": Charge(-((reward - reward.mean()) * chosen).sum()), **charges}
        else:
            learns = float(self.generator != "fixed")
            charges = {"tokens": Charge(model.heads["tokens"].total(narrow, targets), learns), **charges}
        one = output.last.new_ones(())
        charges["generator_accuracy"] = Charge(one * (~wrong).sum(), 0.0, len(targets))
        charges["replaced_rate"] = Charge(one * wrong.sum(), 0.0, batch.tokens)
        return Loss(charges, output.state, output.costs)

    def drafting(self, log_probs: Tensor, targets: Tensor) -> Tensor:
        """[guesses, vocabulary] what drafts are drawn from."""
        changed = log_probs / self.temperature
        if self.never_right:
            changed = changed.scatter(1, targets[:, None], float("-inf"))
        return changed.log_softmax(-1)

    @staticmethod
    def drafted(log_probs: Tensor, draw: Tensor) -> Tensor:
        """[guesses, vocabulary], [guesses] in 0 to 1 -> a token of each distribution: the same row drafts the same tokens,
        whatever else is in the batch."""
        below = log_probs.exp().cumsum(-1)
        return torch.searchsorted(below, (draw.to(below) * below[:, -1])[:, None]).clamp(max=below.size(1) - 1)[:, 0]

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        raise TypeError("replaced tokens are not read off one pass of a network")


def copied_or_written(model: Model, last: Tensor, shown: Tensor, author: Tensor) -> Tensor:
    """The nats of the author's tokens, [guesses, width] and [guesses] twice, where a token is copied with probability D and
    written from the softmax with 1 - D: p(x) = D [x = shown] + (1 - D) softmax(x)."""
    copy = model.heads["copy"](last)
    written = F.logsigmoid(-copy) - model.heads["replaced"].nll(last, author)
    return -torch.where(shown == author, torch.logaddexp(F.logsigmoid(copy), written), written).sum()
