"""NextSentence: does the second text follow the first? (Devlin et al. 2018, section 3.1, task 2)"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import nn

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import Batch, Charge, MakeTokenHead, Objective
from foreword.objectives.layout import ROLES, padded, real, with_specials
from foreword.parts.heads import PooledClassHead
from foreword.tokens.tokenizer import Tokenizer

FOLLOWS, RANDOM = 0, 1  # the order of the classes in Google's code


class NextSentence(Objective):
    kind: Literal["next_sentence"] = "next_sentence"
    writes: ClassVar[frozenset[str]] = frozenset({"ids", "real", "segments"})
    specials: ClassVar[tuple[str, ...]] = ("[cls]", "[separator]")
    reading: Literal["first", "last"] = "first"  # the position of [cls]: XLNet has it behind the texts

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {"next_sentence": PooledClassHead(network.width, 2)}

    def row_ids(self, positions: int, texts: int) -> int:
        return positions - 1 - texts  # [cls] before, a separator after each text

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        built = [with_specials(row, tokenizer) for row in rows]
        texts, segments = [ids for ids, _ in built], [parts for _, parts in built]
        answers = torch.tensor([FOLLOWS if row.follows else RANDOM for row in rows])
        fill = tokenizer.special("[pad]") if tokenizer.has("[pad]") else 0
        return Batch(Inputs(padded(texts, fill), real(texts), padded(segments, 0)), {"next_sentence": answers})

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        read = output.last if output.content is None else output.content
        scores = model.heads["next_sentence"](read if self.reading == "first" else read[:, -1:])
        return {"next_sentence": Charge(F.cross_entropy(scores, batch.targets["next_sentence"], reduction="sum"))}

    def statistics(self, batch: Batch, tokenizer: Tokenizer) -> dict[str, float | int]:
        answers = batch.targets["next_sentence"]
        return {
            "pairs": len(answers),
            "of pairs: the second text follows the first": float((answers == FOLLOWS).float().mean()),
        }

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        follows = int(batch.targets["next_sentence"][row]) == FOLLOWS
        segments = batch.inputs.segments
        if segments is not None and int(segments[row, 0]) >= ROLES:
            there = segments[row] if batch.inputs.real is None else segments[row][batch.inputs.real[row]]
            ends = (batch.inputs.ids[row][: len(there)] == tokenizer.special("[separator]")).nonzero().flatten()
            roles = "".join("QR"[int(there[end]) - ROLES] for end in ends)
            return f"a dialogue {roles}, " + ("AS IT WAS" if follows else "with a turn from ANOTHER DIALOGUE")
        return "the second text FOLLOWS the first" if follows else "the second text is from ANOTHER DOCUMENT"
