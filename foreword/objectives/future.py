"""Future sentences: tell the sentences that come next from others (van den Oord et al. 2018, contrastive predictive coding)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import NOTHING, Batch, Charge, MakeTokenHead, Objective
from foreword.objectives.layout import padded, texts_of
from foreword.tokens.tokenizer import Tokenizer


class FutureScores(nn.Module):
    """log f_k = z' W_k c, with a matrix for each distance k."""

    def __init__(self, width: int, steps: int):
        super().__init__()
        self.maps: nn.ModuleList = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(steps)])

    def forward(self, c: Tensor, z: Tensor, step: int) -> Tensor:
        """c [rows, contexts, width], z [rows, candidates, width] -> [rows, contexts, candidates]"""
        return self.maps[step](c) @ z.mT


class FutureSentences(Objective):
    """The candidates are the sentences of a row: those of its other excerpts, or also the others of its own.

    The context knows at least log N - L nats of a sentence, L what a guess costs: `log_candidates` minus `nll.future`. More than
    log N cannot be shown.
    """

    kind: Literal["future_sentences"] = "future_sentences"
    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real"})
    networks: ClassVar[tuple[str, ...]] = ("sentence_context",)
    cuts: ClassVar[tuple[str, ...]] = ("excerpts",)
    leading: ClassVar[str] = "future"
    steps: Size = 3  # how far ahead
    negatives: Literal["others", "all"] = "all"  # "others": of other excerpts alone, which topic and style tell apart

    @property
    def measures(self) -> tuple[str, ...]:
        return ("log_candidates", *(f"accuracy_{step + 1}" for step in range(self.steps)))

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {"future": FutureScores(network.width, self.steps)}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        texts = [text for row in rows for text in texts_of(row, row.ids, None)]
        shape = (len(rows), rows[0].roles[-1] + 1, rows[0].roles.count(0))  # rows, excerpts, sentences
        ids, lengths = padded(texts, 0).unflatten(0, shape), torch.tensor([len(text) for text in texts]).view(shape)
        real = torch.arange(ids.size(-1)) < lengths[..., None]
        numbers = torch.arange(shape[1] * shape[2]).view(shape[1:])
        wanted = torch.full((*shape[1:], self.steps), NOTHING)
        for step in range(min(self.steps, shape[2] - 1)):
            wanted[:, : shape[2] - step - 1, step] = numbers[:, step + 1 :]
        return Batch(Inputs(ids, real), {"future": wanted.expand(shape[0], *wanted.shape).clone()})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        z, c = (layer.flatten(1, 2) for layer in output.layers)
        targets, ids, excerpts = batch.targets["future"].flatten(1, 2), batch.inputs.ids, batch.inputs.ids.size(1)
        owner = torch.arange(excerpts, device=ids.device).repeat_interleave(ids.size(2))
        flat = ids.flatten(1, 2)
        alike = (flat[:, :, None] == flat[:, None, :]).all(-1)  # the same sentence twice is no wrong answer
        totals, chances, found = [], [], {}
        for step in range(self.steps):
            row, context = (targets[..., step] != NOTHING).nonzero(as_tuple=True)
            if not len(row):
                continue
            right = targets[row, context, step]
            shut = alike[row, right]
            if self.negatives == "others":
                shut = shut | (owner == owner[context][:, None])
            shut = shut.scatter(1, right[:, None], False)
            scores = model.heads["future"](c, z, step)[row, context].masked_fill(shut, float("-inf"))
            totals.append(F.cross_entropy(scores, right, reduction="sum"))
            chances.append((~shut).sum(1).to(scores.dtype).log().sum())
            hits = (scores.argmax(1) == right).sum().to(scores.dtype)
            found[f"accuracy_{step + 1}"] = Charge(hits, 0.0, len(row))
        guesses = int((targets != NOTHING).sum())
        return {
            "future": Charge(torch.stack(totals).sum()),
            "log_candidates": Charge(torch.stack(chances).sum(), 0.0, guesses),
            **found,
        }

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        first, kept = batch.inputs.ids[row, 0], batch.inputs.real
        assert kept is not None
        lines = [tokenizer.decode(ids[there].tolist()) for ids, there in zip(first, kept[row, 0])]
        count = batch.inputs.ids[row].shape[0] * batch.inputs.ids[row].shape[1]
        return "\n".join([f"{count} sentences, the first excerpt of {batch.inputs.ids.size(1)}:", *lines])
