"""Talk: guess every reply of a session from the turns before it (Zhang et al. 2020, section 3.2); backward, from those after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective, charge_tokens
from foreword.objectives.layout import padded
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.turns import split_turns


class DialogueTurns(Objective):
    """Causal, but the first turn of a row is only read, and so is any turn that the data switches off."""

    kind: Literal["dialogue"] = "dialogue"
    overlap: ClassVar[int] = 1
    converses: ClassVar[bool] = True
    reverse: bool = False  # the newest turn first; the words of a turn keep their order

    def abilities(self) -> dict[str, frozenset[str]]:
        return {"tokens": frozenset({"score", "generate"})}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions + 1

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        built = [self.lay_out(row, tokenizer) for row in rows]
        # padding is marked by NOTHING, not by an id: [end] is a target like any other
        ids = padded([ids[:-1] for ids, _ in built], 0)
        targets = padded([np.where(learned, ids, NOTHING)[1:] for ids, learned in built], NOTHING)
        return Batch(Inputs(ids), {"tokens": targets}, padding=ids.numel() - sum(len(ids) - 1 for ids, _ in built))

    def lay_out(self, row: Row, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
        """The ids in the order in which they are read, and which of them are to be guessed."""
        end = tokenizer.special("[end]")
        turns = split_turns(row.ids, end)
        learned = np.ones(len(row.ids), bool) if row.learned is None else row.learned
        marks = np.split(learned, np.cumsum([len(turn) for turn in turns])[:-1])
        if self.reverse:
            turns, marks = reversed_turns(turns), reversed_turns(marks)
        marks = [np.zeros(len(turns[0]), bool), *marks[1:]]
        if tokenizer.has("[cls]"):
            turns, marks = [np.asarray([tokenizer.special("[cls]")]), *turns], [np.zeros(1, bool), *marks]
        return np.concatenate(turns).astype(np.int64), np.concatenate(marks)

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets["tokens"])

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        targets = batch.targets["tokens"]
        return {
            "guesses": int((targets != NOTHING).sum()),
            "replies": int((targets == tokenizer.special("[end]")).sum()),
            "of positions: guessed": float((targets != NOTHING).float().mean()),
        }

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        ids, targets = batch.inputs.ids[row].numpy(), batch.targets["tokens"][row].numpy()
        last = int(np.flatnonzero(targets != NOTHING)[-1]) if (targets != NOTHING).any() else -1
        whole = np.append(ids[: last + 1], targets[last : last + 1])
        guessed = np.append([False], targets[: last + 1] != NOTHING)
        at, lines = 0, []
        for turn in split_turns(whole, tokenizer.special("[end]")):
            sign = "guesses" if guessed[at : at + len(turn)].any() else "reads  "
            lines.append(f"{sign} {tokenizer.decode(turn, keep_specials=True)}")
            at += len(turn)
        return "\n".join([f"{int((targets != NOTHING).sum())} guesses", *lines])


def reversed_turns(turns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same turns, the last one first."""
    return list(turns[::-1])
