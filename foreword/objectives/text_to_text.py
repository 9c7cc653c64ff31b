"""TextToText: the answer to a labelled example is written, word by word, from a text that says which task it is (T5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from foreword.basics.numbers import Below1, Size
from foreword.batches.encoded import EncodedExample
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import NOTHING, Batch, Charge, MakeTokenHead, charge_tokens
from foreword.objectives.examples import FromExamples, examples_of
from foreword.objectives.translation import FromSource
from foreword.parts.task_heads import Reading
from foreword.tokens.tokenizer import Tokenizer


class TextToText(FromSource, FromExamples):
    """The target is the ids of the answer; the scores are the ids that were written, and before them how likely they were.

    The head is that of the network's own tokens: tasks share it, and their prefixes tell them apart.
    """

    kind: Literal["text_to_text"] = "text_to_text"
    labelled: ClassVar[bool] = True
    pipeline: ClassVar[str] = "text2text-generation"
    shared: ClassVar[bool] = True
    reading: Reading = "text"
    dropout: Below1 = 0.0
    longest: Size = 64  # tokens of an answer

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        return found + (
            [] if self.longest > 0 else [("longest", f"an answer has at least 1 token (it says {self.longest}).")]
        )

    @property
    def writes(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"ids", "source", "source_real"})

    @property
    def specials(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("[end]",)

    @property
    def name(self) -> str:
        return "tokens"

    def abilities(self) -> dict[str, frozenset[str]]:
        return {self.name: frozenset({"predict", "translate"})}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {self.name: token_head()}

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:  # type: ignore[override]
        examples = examples_of(rows)
        return self.batch([one.sequences[0].ids for one in examples], self.written(examples, tokenizer), tokenizer)

    def written(self, examples: Sequence[EncodedExample], tokenizer: Tokenizer) -> list[np.ndarray]:
        """What is to be written; of an example without a label nothing but the end."""
        end = np.asarray([tokenizer.special("[end]")])
        return [end if one.target is None else one.target for one in examples]

    def charges(self, model: Model, output: Output, batch: Batch) -> dict[str, Charge]:
        return charge_tokens(model, output, batch.targets[self.name], self.smoothing)

    @torch.no_grad()
    def scores(self, model: Model, output: Output, batch: Any) -> list[Tensor]:
        """For each example its log-probability, and the ids of the likeliest next token again and again, to the end."""
        inputs: Inputs = batch.inputs
        target = batch.targets[self.name][0]
        end = int(target[target != NOTHING][-1])  # with which everything that is written closes
        ids, state, tokens = inputs.ids[:, :1], None, []
        likely, open_ = (
            torch.zeros(len(ids), device=ids.device),
            torch.ones(len(ids), dtype=torch.bool, device=ids.device),
        )
        for _ in range(self.longest):
            read = model.network(Inputs(ids, source=inputs.source, source_real=inputs.source_real), state)
            best = model.heads[self.name].log_probs(read.last[:, -1]).max(-1)
            likely, state = likely + torch.where(open_, best.values, 0.0), read.state
            ids = torch.where(open_, best.indices, end)[:, None]
            tokens.append(ids)
            open_ = open_ & (ids[:, 0] != end)
            if not bool(open_.any()):
                break
        return list(torch.cat([likely[:, None], torch.cat(tokens, 1).to(likely)], 1))

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        return FromSource.show(self, batch, row, tokenizer)
