"""Permutation: guess tokens one after another in an order that is drawn, each from those before it in that order.

Yang et al. 2019 (XLNet), sections 2.2 to 2.5. Only a share of the tokens is guessed, the last of the order; all others are
seen by everyone. The text itself stays in its own order: only who sees whom follows the other one.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch

from foreword.basics.numbers import Size
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, charge_tokens
from foreword.objectives.layout import padded, real, with_class_last
from foreword.objectives.masked import ordinary_ids
from foreword.objectives.spans_in_context import SpansInContext
from foreword.tokens.tokenizer import Tokenizer


class PermutedRow(NamedTuple):
    """A row as the network reads it."""

    ids: np.ndarray
    segments: np.ndarray
    recalls: np.ndarray  # what of it may see what is remembered
    chosen: np.ndarray  # the positions to guess
    order: np.ndarray


class PermutationObjective(SpansInContext):
    kind: Literal["permutation"] = "permutation"
    networks: ClassVar[tuple[str, ...]] = ("two_stream_transformer",)
    block: Size | None = None  # positions that are permuted among themselves; None: all that are remembered, all behind
    denoising: bool = False  # the same tokens are [mask], and guessed independently of each other: BERT's way

    @property
    def writes(self) -> frozenset[str]:
        more = {"order"} if self.denoising else {"order", "queries"}
        return frozenset({"ids", "real", "segments", "backward", "recalls", "remembered", *more})

    @property
    def specials(self) -> tuple[str, ...]:
        return ("[cls]", "[separator]", *(("[mask]",) if self.denoising else ()))

    def abilities(self) -> dict[str, frozenset[str]]:
        return {}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions - texts - 1  # a separator after each text, [cls] at the end

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        rows_read = [self._permuted(row, tokenizer) for row in rows]
        fill = tokenizer.special("[pad]") if tokenizer.has("[pad]") else 0
        shown = [one.ids for one in rows_read]
        if self.denoising:
            shown = [ids.copy() for ids in shown]
            for ids, one in zip(shown, rows_read):
                ids[one.chosen] = tokenizer.special("[mask]")
        inputs = Inputs(
            padded(shown, fill),
            real(shown),
            padded([one.segments for one in rows_read], 0),
            order=padded([one.order for one in rows_read], 0),
            queries=None if self.denoising else padded([one.chosen for one in rows_read], 0),
            backward=torch.tensor([row.backward for row in rows]) if any(row.backward for row in rows) else None,
            recalls=padded([one.recalls for one in rows_read], 1).bool(),
            remembered=rows[0].remembered,
        )
        if self.denoising:
            everywhere = [np.full(len(one.ids), NOTHING) for one in rows_read]
            for target, one in zip(everywhere, rows_read):
                target[one.chosen] = one.ids[one.chosen]
            return Batch(inputs, {"tokens": padded(everywhere, NOTHING)}, rows[0].continues)
        targets = padded([one.ids[one.chosen] for one in rows_read], NOTHING)
        return Batch(inputs, {"tokens": targets}, rows[0].continues)

    def _permuted(self, row: Row, tokenizer: Tokenizer) -> PermutedRow:
        texts = [row.ids] if row.second is None else [row.ids, row.second]
        ids, segments = with_class_last(texts, tokenizer)
        ordinary, starts = np.isin(ids, ordinary_ids(tokenizer)), self.starts(row, len(ids))
        parts = np.zeros(len(ids), np.int64)
        if row.remembered is not None:
            parts[row.remembered :] = 1  # what is remembered must not know what comes after it: the next row reads that
        goals = self.goals(parts)
        chosen = np.concatenate(
            [self.choose(np.flatnonzero(parts == part), starts, ordinary, goal, row) for part, goal in goals]
        )
        recalls = np.ones(len(ids), bool) if row.follows else segments != 1
        return PermutedRow(ids, segments, recalls, chosen, self.ordered(parts, chosen, row.chance))

    def ordered(self, parts: np.ndarray, chosen: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """[positions] numbers: who has no larger one is seen. All that is not guessed has the first number of its part."""
        length = len(parts)
        order = parts * (length * length + 1)
        if self.denoising:
            return order
        blocks = np.arange(length) // (self.block or length)
        order[chosen] += 1 + blocks[chosen] * length + draw.permutation(len(chosen))
        return order

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets["tokens"])

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        inputs, guesses = batch.inputs, batch.targets["tokens"] != NOTHING
        backward = torch.zeros(batch.size) if inputs.backward is None else inputs.backward.float()
        assert inputs.recalls is not None
        found: dict[str, float | int] = {"tokens": batch.tokens, "guesses": int(guesses.sum())}
        found["of tokens: to guess"] = float(guesses.sum() / batch.tokens)
        found["of rows: the text runs from its end"] = float(backward.mean())
        return found | {"of rows: the second text is from elsewhere": float((~inputs.recalls.all(1)).float().mean())}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        inputs, targets = batch.inputs, batch.targets["tokens"][row]
        pieces, guessed = tokenizer.pieces(inputs.ids[row].tolist()), targets != NOTHING
        if inputs.queries is None:
            where = guessed.nonzero()[:, 0]
            for place, piece in zip(where.tolist(), tokenizer.pieces(targets[where].tolist())):
                pieces[place] = f"{{{piece}}}"
        else:
            assert inputs.order is not None
            where = inputs.queries[row][guessed]
            ranks = inputs.order[row][where].argsort().argsort() + 1
            for place, rank in zip(where.tolist(), ranks.tolist()):
                pieces[place] = f"{{{rank}: {pieces[place]}}}"
        way = "from its end to its start" if inputs.backward is not None and inputs.backward[row] else "as it stands"
        kept = "all" if inputs.remembered is None else f"{inputs.remembered:,}"
        on = "goes on from the batch before" if batch.continues else "starts with nothing remembered"
        pair = "the second text is from ELSEWHERE" if not bool(inputs.recalls[row].all()) else "the second text FOLLOWS"  # type: ignore[index]
        return (
            f"{len(where)} guesses in the order of their numbers; a text {way}, of which {kept} positions are remembered; "
            f"{on}; {pair}\n{' '.join(pieces)}"
        )
