"""Autoencode: read a text to its end, then write it from what is remembered of it (Dai & Le 2015)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective, charge_tokens
from foreword.objectives.layout import padded
from foreword.tokens.tokenizer import Tokenizer


class Autoencode(Objective):
    """text [end] text [end]: the first half is only read. What reads and what writes are one network, with one set of weights."""

    kind: Literal["autoencode"] = "autoencode"
    specials: ClassVar[tuple[str, ...]] = ("[end]",)
    networks: ClassVar[tuple[str, ...]] = ("recurrent",)  # what looks back would copy, and remember nothing

    def row_ids(self, positions: int, texts: int) -> int:
        return max((positions - 1) // 2, 1)

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        end = tokenizer.special("[end]")
        texts = [row.ids[:-1] if row.ids[-1] == end else row.ids for row in rows]
        ids = padded([np.concatenate([text, [end], text]).astype(np.int64) for text in texts], 0)
        targets = padded([np.concatenate([np.full(len(text), NOTHING), text, [end]]) for text in texts], NOTHING)
        padding = ids.numel() - sum(2 * len(text) + 1 for text in texts)
        return Batch(Inputs(ids), {"tokens": targets}, padding=padding)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets["tokens"])

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        targets = batch.targets["tokens"][row]
        kept = targets[targets != NOTHING].tolist()
        read = tokenizer.decode(batch.inputs.ids[row][: len(kept)].tolist(), keep_specials=True)
        return f"{len(kept)} guesses\nreads:  {read}\nwrites: {tokenizer.decode(kept, keep_specials=True)}"
