"""Causal: guess every next token from those before it."""

from __future__ import annotations

from typing import ClassVar, Literal

from foreword.basics.numbers import Share
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective, charge_tokens
from foreword.objectives.layout import padded
from foreword.tokens.tokenizer import Tokenizer


class Causal(Objective):
    kind: Literal["causal"] = "causal"
    overlap: ClassVar[int] = 1
    reverse: bool = False  # from right to left: every token is guessed from those behind it
    share: Share = (
        1.0  # of a row, the last part, that is charged: those before have seen little (0.5: Dai et al. 2019, 4.2)
    )

    def faults(self) -> list[tuple[str, str]]:
        return [] if 0 < self.share <= 1 else [("share", f"share must lie between 0 and 1 (it says {self.share}).")]

    @property
    def backward(self) -> bool:
        return self.reverse

    def abilities(self) -> dict[str, frozenset[str]]:
        # what asks a language model asks from left to right
        return {} if self.reverse else {"tokens": frozenset({"score", "generate"})}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions + 1

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        # padding stands at the right, where no earlier token can see it, so it needs no mask
        texts = [row.ids[::-1] if self.reverse else row.ids for row in rows]
        ids = padded([text[:-1] for text in texts], 0)
        targets = padded([text[1:] for text in texts], NOTHING)
        if self.share < 1:
            for target, row in zip(targets, rows):
                target[: round((len(row.ids) - 1) * (1 - self.share))] = NOTHING
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
