"""Masked: hide some tokens and guess them from both sides (Devlin et al. 2018, section 3.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.numbers import Share
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective, charge_tokens
from foreword.objectives.layout import marks_with_specials, padded, real, with_specials
from foreword.objectives.units import Unit, numbered, whole_units
from foreword.tokens.tokenizer import Tokenizer


class Masked(Objective):
    kind: Literal["masked"] = "masked"
    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real", "segments"})
    specials: ClassVar[tuple[str, ...]] = ("[cls]", "[separator]", "[mask]")
    rate: Share = 0.15  # share of tokens to guess
    hidden: Share = 0.8  # of those: shown as [mask]
    random: Share = 0.1  # of those: shown as some other token; the rest is shown as it is
    unit: Unit = "token"  # what is hidden as a whole
    decide: Literal["piece", "unit"] = (
        "piece"  # for which [mask], another token or none is drawn: each token, or a unit
    )

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if not 0 < self.rate < 1:
            found.append(("rate", f"rate must lie between 0 and 1 (it says {self.rate})."))
        if self.hidden + self.random > 1:
            found.append(("hidden", f"hidden {self.hidden} and random {self.random} are more than all guesses."))
        return found

    @property
    def marks(self) -> tuple[str, ...]:
        return () if self.unit == "token" else (self.unit,)

    def abilities(self) -> dict[str, frozenset[str]]:
        return {"tokens": frozenset({"fill"})}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions - 1 - texts  # [cls] before, a separator after each text

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        ordinary = ordinary_ids(tokenizer)
        texts, segments, targets = [], [], []
        for row in rows:
            ids, parts = with_specials(row, tokenizer)
            shown, guessed = self.hide(
                ids, tokenizer.special("[mask]"), ordinary, row.chance, self.units(row, ids, tokenizer)
            )
            texts.append(shown)
            segments.append(parts)
            targets.append(guessed)
        fill = tokenizer.special("[pad]") if tokenizer.has("[pad]") else 0
        inputs = Inputs(padded(texts, fill), real(texts), padded(segments, 0))
        return Batch(inputs, {"tokens": padded(targets, NOTHING)})

    def unit_of(self, row: Row) -> Unit:
        """What is hidden as a whole in this row."""
        return self.unit

    def units(self, row: Row, ids: np.ndarray, tokenizer: Tokenizer) -> np.ndarray | None:
        """[positions] the number of each position's unit; None: every token is one."""
        unit = self.unit_of(row)
        if unit == "token":
            return None
        unknown = tokenizer.special("[unknown]") if tokenizer.has("[unknown]") else NOTHING
        starts = marks_with_specials(row, tokenizer, unit)
        return numbered(ids, starts, ordinary_ids(tokenizer), unknown)

    def hide(
        self,
        ids: np.ndarray,
        mask: int,
        ordinary: np.ndarray,
        draw: np.random.Generator,
        units: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(what is shown, what is to be guessed). `ordinary` lists the ids that are not special: only they are hidden."""
        candidates = np.flatnonzero(np.isin(ids, ordinary, assume_unique=False))
        count = min(len(candidates), max(1, round(self.rate * len(candidates))))
        if units is None:
            chosen = draw.permutation(candidates)[:count]
            fate = draw.random(count)
        else:
            chosen, sizes = whole_units(units, count, draw)
            fate = draw.random(len(chosen)) if self.decide == "piece" else np.repeat(draw.random(len(sizes)), sizes)
        shown, targets = ids.copy(), np.full_like(ids, NOTHING)
        targets[chosen] = ids[chosen]
        shown[chosen[fate < self.hidden]] = mask
        swapped = chosen[(fate >= self.hidden) & (fate < self.hidden + self.random)]
        shown[swapped] = draw.choice(ordinary, len(swapped))
        return shown, targets

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets["tokens"])

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        ids, targets = batch.inputs.ids.numpy(), batch.targets["tokens"].numpy()
        guessed = targets != NOTHING
        original = np.where(guessed, targets, ids)
        there = np.ones_like(guessed) if batch.inputs.real is None else batch.inputs.real.numpy()
        plain = np.isin(original, ordinary_ids(tokenizer)) & there
        masked = ids[guessed] == tokenizer.special("[mask]")
        kept = ids[guessed] == targets[guessed]
        return {
            "tokens that are not special": int(plain.sum()),
            "of tokens: to guess": float(guessed.sum() / plain.sum()),
            "of guesses: shown as [mask]": float(masked.mean()),
            "of guesses: shown as another token": float((~masked & ~kept).mean()),
            "of guesses: shown as they are": float(kept.mean()),
            "special tokens to guess": int((guessed & ~plain).sum()),
        }

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        ids, targets = batch.inputs.ids[row].tolist(), batch.targets["tokens"][row].tolist()
        shown, meant = tokenizer.pieces(ids), tokenizer.pieces([max(t, 0) for t in targets])
        length = len(ids) if batch.inputs.real is None else int(batch.inputs.real[row].sum())
        words = [
            piece if target == NOTHING else f"{{{true}}}" if piece == true else f"{{{true} -> {piece}}}"
            for piece, true, target in zip(shown[:length], meant, targets)
        ]
        count = sum(target != NOTHING for target in targets)
        plain = (
            length
            - sum(piece in tokenizer.specials.values() for piece in shown[:length])
            + sum(
                1 for piece, target in zip(shown, targets) if target != NOTHING and piece in tokenizer.specials.values()
            )
        )
        return f"{count} of {plain} tokens to guess ({count / max(plain, 1):.1%})\n{' '.join(words)}"


_ORDINARY: dict[str, np.ndarray] = {}


def ordinary_ids(tokenizer: Tokenizer) -> np.ndarray:
    """The ids that stand for text, sorted."""
    if tokenizer.fingerprint not in _ORDINARY:
        special = {tokenizer.special(name) for name in tokenizer.specials}
        _ORDINARY[tokenizer.fingerprint] = np.asarray([i for i in range(len(tokenizer)) if i not in special])
    return _ORDINARY[tokenizer.fingerprint]
