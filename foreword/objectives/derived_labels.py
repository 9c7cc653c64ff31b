"""Labels made from the text itself, of tokens or of whole rows: guessed from the same network (ERNIE 2.0, section 4.2)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.batches.elsewhere import ELSEWHERE
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import NOTHING, Batch, Charge, MakeTokenHead, Objective
from foreword.objectives.layout import marks_with_specials, padded, real, with_specials
from foreword.objectives.masked import ordinary_ids
from foreword.parts.heads import PooledClassHead
from foreword.tokens.tokenizer import Tokenizer


class DerivedLabels(Objective):
    """`name`: of the head, the target and the charge. What is read is shown as it is."""

    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real", "segments"})
    specials: ClassVar[tuple[str, ...]] = ("[cls]", "[separator]")
    name: str

    def row_ids(self, positions: int, texts: int) -> int:
        return positions - 1 - texts

    def inputs(self, rows: list[Row], tokenizer: Tokenizer) -> Inputs:
        built = [with_specials(row, tokenizer) for row in rows]
        texts, segments = [ids for ids, _ in built], [parts for _, parts in built]
        fill = tokenizer.special("[pad]") if tokenizer.has("[pad]") else 0
        return Inputs(padded(texts, fill), real(texts), padded(segments, 0))


class SequenceLabel(DerivedLabels):
    """One class for a row, from its first position: what the cut has written down as its label."""

    kind: Literal["sequence_label"] = "sequence_label"
    classes: Size

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {self.name: PooledClassHead(network.width, self.classes)}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        labels = [NOTHING if row.label is None else row.label for row in rows]
        if max(labels) >= self.classes:
            raise Fault(
                f"{self.name}: a row has class {max(labels)}, and there are {self.classes} (from 0).",
                "Give the objective as many classes as its task makes.",
            )
        return Batch(self.inputs(rows, tokenizer), {self.name: torch.tensor(labels)})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        scores, labels = model.heads[self.name](output.last), batch.targets[self.name]
        return {self.name: Charge(F.cross_entropy(scores, labels, ignore_index=NOTHING, reduction="sum"))}

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        shares = torch.bincount(batch.targets[self.name].clamp(min=0), minlength=self.classes) / batch.size
        return {f"of {self.name}: class {label}": float(share) for label, share in enumerate(shares) if share}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        length = batch.inputs.ids.size(1) if batch.inputs.real is None else int(batch.inputs.real[row].sum())
        text = " ".join(tokenizer.pieces(batch.inputs.ids[row, :length].tolist()))
        return f"{self.name}: class {int(batch.targets[self.name][row])} of {self.classes}\n{text}"


class TokenLabel(DerivedLabels):
    """Yes or no for every token that is text: whether it carries a mark of the store, or one that its cut has made."""

    kind: Literal["token_label"] = "token_label"
    mark: str

    @property
    def marks(self) -> tuple[str, ...]:
        return () if self.mark == ELSEWHERE else (self.mark,)

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {self.name: nn.Linear(network.width, 2)}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        inputs, ordinary, targets = self.inputs(rows, tokenizer), ordinary_ids(tokenizer), []
        for row, ids in zip(rows, inputs.ids.numpy()):
            marked = marks_with_specials(row, tokenizer, self.mark).astype(np.int64)
            targets.append(np.where(np.isin(ids[: len(marked)], ordinary), marked, NOTHING))
        return Batch(inputs, {self.name: padded(targets, NOTHING)})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        targets = batch.targets[self.name]
        there = targets != NOTHING
        scores = model.heads[self.name](output.last[there])
        return {self.name: Charge(F.cross_entropy(scores, targets[there], reduction="sum"))}

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        targets = batch.targets[self.name]
        return {f"of tokens: {self.name}": float((targets == 1).sum() / (targets != NOTHING).sum())}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        length = batch.inputs.ids.size(1) if batch.inputs.real is None else int(batch.inputs.real[row].sum())
        pieces = tokenizer.pieces(batch.inputs.ids[row, :length].tolist())
        marked = batch.targets[self.name][row].tolist()
        return f"{self.name} ({{yes}}):\n" + " ".join(
            f"{{{piece}}}" if yes == 1 else piece for piece, yes in zip(pieces, marked)
        )
