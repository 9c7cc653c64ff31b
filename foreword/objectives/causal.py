"""Causal: guess every next token from those before it."""

from __future__ import annotations

from typing import ClassVar, Literal

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective, charge_tokens
from foreword.objectives.layout import padded
from foreword.tokens.tokenizer import Tokenizer


class Causal(Objective):
    kind: Literal["causal"] = "causal"
    overlap: ClassVar[int] = 1

    def abilities(self) -> dict[str, frozenset[str]]:
        return {"tokens": frozenset({"score", "generate"})}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions + 1

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        # padding stands at the right, where no earlier token can see it, so it needs no mask
        ids = padded([row.ids[:-1] for row in rows], 0)
        targets = padded([row.ids[1:] for row in rows], NOTHING)
        return Batch(Inputs(ids), {"tokens": targets}, rows[0].continues)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets["tokens"])

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        kept = batch.targets["tokens"][row] != NOTHING
        ids, targets = batch.inputs.ids[row][kept].tolist(), batch.targets["tokens"][row][kept].tolist()
        reads = tokenizer.decode(ids, keep_specials=True)
        pairs = "  ".join(f"{a!r}->{b!r}" for a, b in zip(tokenizer.pieces(ids[:8]), tokenizer.pieces(targets[:8])))
        how = "goes on from the batch before" if batch.continues else "starts with nothing remembered"
        return f"{len(targets)} guesses, {how}\nguesses: {pairs} ...\nreads: {reads}"
