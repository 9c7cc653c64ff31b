"""MaskedNextToken: a hidden token is guessed one place before it, where a causal model guesses too (GPT-BERT).

Charpentier & Samuel 2024, "GPT or BERT: why not both?". So one stack and one softmax learn both: some rows are read from
left to right, and every next token is guessed; in the others tokens are hidden, and guessed from both sides.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from foreword.basics.numbers import Share
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge
from foreword.objectives.causal import Causal
from foreword.objectives.layout import padded, real, with_specials
from foreword.objectives.masked import Masked, ordinary_ids
from foreword.tokens.tokenizer import Tokenizer


class MaskedNextToken(Masked):
    kind: Literal["masked_next_token"] = "masked_next_token"  # type: ignore[assignment]
    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real", "causal"})
    specials: ClassVar[tuple[str, ...]] = (*Masked.specials, "[end]")
    overlap: ClassVar[int] = 1
    guessed_before: ClassVar[int] = 1
    causal: Share = 0.5  # share of rows that are read from left to right; of the others, tokens are hidden

    def faults(self) -> list[tuple[str, str]]:
        wrong = ("causal", f"causal is a share of rows between 0 and 1 (it says {self.causal}).")
        return [*super().faults(), *([] if 0 <= self.causal <= 1 else [wrong])]

    def abilities(self) -> dict[str, frozenset[str]]:
        taught = [*(["score", "generate"] if self.causal else []), *(["fill"] if self.causal < 1 else [])]
        return {"tokens": frozenset(taught)}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions + 1

    def is_causal(self, row: Row) -> bool:
        """Evenly spread: the row's number decides, whatever batch it is in."""
        return floor((row.number + 1) * self.causal) > floor(row.number * self.causal)

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        causal = [self.is_causal(row) for row in rows]
        built = [
            (row.ids[:-1], row.ids[1:]) if ahead else self.shifted(row, tokenizer) for row, ahead in zip(rows, causal)
        ]
        read, guessed = ([one[part] for one in built] for part in range(2))
        inputs = Inputs(padded(read, tokenizer.special("[pad]")), real(read), causal=torch.tensor(causal))
        return Batch(inputs, {"tokens": padded(guessed, NOTHING)})

    def shifted(self, row: Row, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
        """[cls] and the text, and each hidden token one place before it stands: as long as a row read from left to right."""
        marks = {name: mark[:-2] for name, mark in row.marks.items()}
        text = replace(row, ids=row.ids[:-2], marks=marks)
        ids, _ = with_specials(text, tokenizer)
        units = self.units(text, ids, tokenizer)
        shown, guessed = self.hide(ids, tokenizer.special("[mask]"), ordinary_ids(tokenizer), row.chance, units)
        return shown[:-1], guessed[1:]

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        """Every guess weighs the same; what each kind of row costs is told apart in the metrics."""
        targets, causal = batch.targets["tokens"], causal_rows(batch)
        guessed, apart, total = targets != NOTHING, {}, output.last.new_zeros(())
        for name, rows, share in (("causal", causal, self.causal), ("masked", ~causal, 1 - self.causal)):
            if share:  # a part of a batch may have no such row, and still says so
                here = guessed & rows[:, None]
                cost = model.heads["tokens"].total(output.last[here], targets[here])
                total, apart[name] = total + cost, Charge(cost.detach(), 0.0, int(here.sum()))
        return {"tokens": Charge(total), **apart}

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        causal = causal_rows(batch)
        found: dict[str, float | int] = {"of rows: read from left to right": float(causal.float().mean())}
        return found if bool(causal.all()) else {**found, **super().statistics(_as_masked(batch, ~causal), tokenizer)}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        if causal_rows(batch)[row]:
            return f"from left to right: {Causal().show(batch, row, tokenizer)}"
        which = torch.arange(batch.size) == row
        return f"both ways, guessed one place before: {super().show(_as_masked(batch, which), 0, tokenizer)}"


def causal_rows(batch: Batch) -> Tensor:
    if batch.inputs.causal is None:
        raise ValueError("a batch of masked next tokens says which rows are causal")
    return batch.inputs.causal


def _as_masked(batch: Batch, rows: Tensor) -> Batch:
    """Some rows with each target where its token stands."""
    inputs, targets = batch.inputs, batch.targets["tokens"][rows]
    there = torch.cat([torch.full_like(targets[:, :1], NOTHING), targets[:, :-1]], 1)
    kept = Inputs(inputs.ids[rows], None if inputs.real is None else inputs.real[rows])
    return Batch(kept, {"tokens": there})
