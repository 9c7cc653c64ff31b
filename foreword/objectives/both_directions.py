"""Both directions: guess every next token from those before it, and every previous one from those behind it (ELMo)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import torch
from torch import nn

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import NOTHING, Batch, Charge, MakeTokenHead, Objective, charge_tokens
from foreword.objectives.layout import padded
from foreword.tokens.tokenizer import Tokenizer


class BothDirections(Objective):
    """Two language models that share their words and their softmax; neither sees what the other guesses from."""

    kind: Literal["both_directions"] = "both_directions"
    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real"})
    networks: ClassVar[tuple[str, ...]] = ("bidirectional_recurrent",)

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {"tokens": token_head(network.width // 2)}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        ids = padded([row.ids for row in rows], 0)
        found = padded([row.ids for row in rows], NOTHING)
        beyond = torch.full_like(found[:, :1], NOTHING)
        targets = torch.stack([torch.cat([found[:, 1:], beyond], 1), torch.cat([beyond, found[:, :-1]], 1)], -1)
        targets[found == NOTHING] = NOTHING  # padding guesses nothing
        real = found != NOTHING
        return Batch(Inputs(ids, None if bool(real.all()) else real), {"tokens": targets})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        apart = output.last.unflatten(-1, (2, -1))  # [batch, positions, 2 directions, width]
        return charge_tokens(model, replace(output, last=apart), batch.targets["tokens"])

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        targets, ids = batch.targets["tokens"][row], batch.inputs.ids[row].tolist()
        pieces, shown = tokenizer.pieces(ids), []
        for direction, arrow in enumerate(("->", "<-")):
            chosen = [at for at in range(len(ids)) if int(targets[at, direction]) != NOTHING][:8]
            guessed = tokenizer.pieces([int(targets[at, direction]) for at in chosen])
            pairs = (
                (pieces[at], guess) if arrow == "->" else (guess, pieces[at]) for at, guess in zip(chosen, guessed)
            )
            shown.append("  ".join(f"{a!r}{arrow}{b!r}" for a, b in pairs))
        count = int((targets != NOTHING).sum())
        reads = tokenizer.decode(ids, keep_specials=True)
        return f"{count} guesses\nforward:  {shown[0]} ...\nbackward: {shown[1]} ...\nreads: {reads}"
