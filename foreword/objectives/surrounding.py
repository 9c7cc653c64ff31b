"""Surrounding sentences: from a sentence, write the one before it and the one behind it (Kiros et al. 2015)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from torch import nn

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import NOTHING, Batch, Charge, MakeTokenHead, charge_tokens
from foreword.objectives.layout import padded, real, texts_of
from foreword.objectives.translation import FromSource
from foreword.tokens.tokenizer import Tokenizer


class SurroundingSentences(FromSource):
    """One sentence is read, its neighbours are written, each by a writer of its own, with one softmax."""

    kind: Literal["surrounding_sentences"] = "surrounding_sentences"
    networks: ClassVar[tuple[str, ...]] = ("sentence_writers",)
    cuts: ClassVar[tuple[str, ...]] = ("triples",)
    closes: ClassVar[bool] = True

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {"tokens": token_head(network.written)}  # type: ignore[arg-type]

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        end, start = [tokenizer.special("[end]")], self.start_id(tokenizer)
        triples = [[np.concatenate([text, end]) for text in texts_of(row, row.ids, None)] for row in rows]
        sources = [middle for _, middle, _ in triples]
        wanted = [text for before, _, after in triples for text in (before, after)]
        ids = padded([np.concatenate([[start], text[:-1]]) for text in wanted], start).unflatten(0, (-1, 2))
        inputs = Inputs(ids, source=padded(sources, start), source_real=real(sources))
        targets = padded(wanted, NOTHING).unflatten(0, (-1, 2))  # [batch, before and after, positions]
        return Batch(inputs, {"tokens": targets}, padding=ids.numel() - sum(map(len, wanted)))

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        """Of several readers, the mean."""
        targets, readers = batch.targets["tokens"], output.last.size(1)
        charge = charge_tokens(model, output, targets[:, None].expand(-1, readers, -1, -1), self.smoothing)["tokens"]
        return {"tokens": Charge(charge.total / readers)}

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        source, kept = batch.inputs.source, batch.inputs.source_real
        assert source is not None
        read = source[row] if kept is None else source[row][kept[row]]
        texts = [target[target != NOTHING] for target in batch.targets["tokens"][row]]
        before, now, after = (
            tokenizer.decode(text.tolist(), keep_specials=True) for text in (texts[0], read, texts[1])
        )
        return f"writes: {before}\nreads:  {now}\nwrites: {after}"
