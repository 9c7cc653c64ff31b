"""Translation: write a target, word by word, from a source (Vaswani et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.numbers import Share, Whole
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.base import NOTHING, Batch, Charge, Objective, charge_tokens
from foreword.objectives.layout import padded, real
from foreword.tokens.tokenizer import Tokenizer


class FromSource(Objective):
    """Writes a target from a source; subclasses say what the two are."""

    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real", "source", "source_real"})
    specials: ClassVar[tuple[str, ...]] = ("[end]",)
    start: Whole | None = None  # the id that a target begins with; [pad] by default, or [end] where there is none
    smoothing: Share = 0.0  # share of the right answer that is spread evenly over all tokens

    def faults(self) -> list[tuple[str, str]]:
        if 0 <= self.smoothing < 1:
            return []
        return [("smoothing", f"smoothing must be at least 0 and less than 1 (it says {self.smoothing}).")]

    def abilities(self) -> dict[str, frozenset[str]]:
        return {"tokens": frozenset({"translate"})}

    def known_start(self, tokenizer: Tokenizer | None) -> int | None:
        """The id that a target begins with; of a model without a tokenizer only as its recipe gives it."""
        return self.start if tokenizer is None else self.start_id(tokenizer)

    def start_id(self, tokenizer: Tokenizer) -> int:
        if self.start is not None:
            return self.start
        return tokenizer.special("[pad]" if tokenizer.has("[pad]") else "[end]")

    def batch(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], tokenizer: Tokenizer) -> Batch:
        """Sources and targets, each with its [end]: the target is read one place later than it is written."""
        start = self.start_id(tokenizer)
        ids = padded([np.concatenate([[start], target[:-1]]) for target in targets], start)
        inputs = Inputs(ids, real(targets), source=padded(sources, start), source_real=real(sources))
        return Batch(inputs, {"tokens": padded(targets, NOTHING)})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets["tokens"], self.smoothing)

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        source, kept = batch.inputs.source, batch.inputs.source_real
        assert source is not None
        read = source.numel() if kept is None else int(kept.sum())
        return {"tokens read": read, "tokens written": sum(batch.guesses.values())}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        source, kept, target = batch.inputs.source, batch.inputs.source_real, batch.targets["tokens"][row]
        assert source is not None
        read = source[row] if kept is None else source[row][kept[row]]
        said = tokenizer.decode(read.tolist(), keep_specials=True)
        return f"reads:  {said}\nwrites: {tokenizer.decode(target[target != NOTHING].tolist(), keep_specials=True)}"


class Translation(FromSource):
    """Source and target are the two texts of a row."""

    kind: Literal["translation"] = "translation"
    smoothing: Share = 0.1

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        return self.batch([row.ids for row in rows], [row.second for row in rows if row.second is not None], tokenizer)
