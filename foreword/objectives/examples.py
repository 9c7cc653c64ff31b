"""What objectives of labelled examples share: a batch in which an example may be several sequences, and where these are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Below1
from foreword.batches.encoded import EncodedExample
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Network, Output
from foreword.objectives.base import NOTHING, Batch, MakeTokenHead, Objective
from foreword.objectives.layout import padded
from foreword.parts.task_heads import Read, Reading, SequenceHead, mean_of
from foreword.tokens.tokenizer import Tokenizer

Unit = Literal["example", "sequence", "value"]  # what counts as one guess of a target


@dataclass(frozen=True, kw_only=True)
class ExampleBatch(Batch):
    """Sequences of examples, one behind the other. A row of it is an example: its sequences stay together."""

    there: Tensor  # [sequences, positions], False at padding, whether or not the network is told
    counts: tuple[int, ...]  # sequences of each example
    units: dict[str, Unit]  # by target; those of a sequence or of a value have a row for each sequence

    @property
    def size(self) -> int:
        return len(self.counts)

    @property
    def tokens(self) -> int:
        return int(self.there.sum())

    def count(self, name: str, target: Tensor) -> int:
        asked = ~target.isnan() if target.is_floating_point() else target != NOTHING
        return int((asked if self.units[name] == "value" or asked.dim() == 1 else asked.any(1)).sum())

    def beside(self, others: Sequence[Batch]) -> ExampleBatch:
        units = {
            name: unit
            for batch in (self, *others)
            if isinstance(batch, ExampleBatch)
            for name, unit in batch.units.items()
        }
        joined = super().beside(others)
        return replace(self, targets=joined.targets, units=units)

    def rows(self, start: int, stop: int) -> ExampleBatch:
        ends = [0, *accumulate(self.counts)]
        first, last = ends[min(start, self.size)], ends[min(stop, self.size)]
        targets = {
            name: target[start:stop] if self.units[name] == "example" else target[first:last]
            for name, target in self.targets.items()
        }
        return replace(
            self,
            inputs=self.inputs.rows(first, last),
            targets=targets,
            there=self.there[first:last],
            counts=self.counts[start:stop],
        )

    def to(self, device: torch.device | str) -> ExampleBatch:
        moved = super().to(device)
        return replace(self, inputs=moved.inputs, targets=moved.targets, there=self.there.to(device))


class FromExamples(Objective):
    """Learns what stands in labelled examples. `reading`: where the network's own manner puts what it has understood."""

    labelled: ClassVar[bool] = True
    unit: ClassVar[Unit] = "example"
    pipeline: ClassVar[str] = ""  # what the Hugging Face hub calls such models
    problem_type: ClassVar[str] = ""  # in the config of their sequence classifiers
    outputs: ClassVar[int] = 2  # of the head, where labels do not say it
    shared: ClassVar[bool] = False  # several tasks have one head, that of the tokens
    reading: Reading = "first"
    dropout: Below1 = 0.1  # before the last layer of the head
    tells_padding: bool = False  # and which text is which, also to a causal network: for what reads its vectors

    @property
    def writes(self) -> frozenset[str]:
        if self.reading != "last":
            return frozenset({"ids", "real", "segments"})
        # a causal network never sees padding at the right
        return frozenset({"ids", "real", "segments"} if self.tells_padding else {"ids"})

    @property
    def published(self) -> bool:
        """Whether it is read as the papers, and the classes of transformers, read it."""
        return True

    @property
    def specials(self) -> tuple[str, ...]:
        return ("[cls]", "[separator]") if self.reading != "last" else ("[start]", "[delimiter]", "[extract]")

    @property
    def name(self) -> str:
        """Of the head, the target and the charge."""
        return self.kind  # type: ignore[attr-defined]

    def head(self, width: int) -> nn.Module:
        raise TypeError(f"{type(self).__name__} has no head.")

    def abilities(self) -> dict[str, frozenset[str]]:
        return {self.name: frozenset({"predict"})}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {self.name: self.head(network.width)}

    def targets(self, examples: Sequence[EncodedExample]) -> Tensor:
        """What is to be guessed; NOTHING where an example has no label."""
        raise TypeError(f"{type(self).__name__} has no targets.")

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> ExampleBatch:
        examples = examples_of(rows)
        return to_batch(
            examples,
            tokenizer,
            self.reading,
            {self.name: self.targets(examples)},
            {self.name: self.unit},
            self.tells_padding,
        )

    def scores(self, model: Model, output: Output, batch: ExampleBatch) -> list[Tensor]:
        """For each example of the batch, what the head says of it."""
        raise TypeError(f"{type(self).__name__} has no scores.")

    def show(self, batch: Batch, row: int, tokenizer: Tokenizer) -> str:
        part = batch.rows(row, row + 1)
        assert isinstance(part, ExampleBatch)
        read = [
            tokenizer.decode(ids[there].tolist(), keep_specials=True) for ids, there in zip(part.inputs.ids, part.there)
        ]
        return "\n".join([f"{self.name}: {part.targets[self.name].tolist()}", *(f"reads: {text}" for text in read)])


class FromSequences(FromExamples):
    """Learns something of each sequence as a whole."""

    read: Read = "place"  # where it is read; "mean": of all its vectors; "ends": that, and the mean of its tokens' own

    @property
    def published(self) -> bool:
        return self.read == "place"

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        bottom = network.table().size(1) if self.read == "ends" else 0
        return {self.name: self.head(network.width + bottom)}

    def states(self, model: Model, output: Output, batch: ExampleBatch) -> Tensor:
        """[sequences, width] what the head reads of each."""
        top = model.heads[self.name].states(output.last, batch.there)
        if self.read != "ends":
            return top
        tokens = F.embedding(batch.inputs.ids, model.network.table())
        return torch.cat([top, mean_of(tokens, batch.there)], -1)

    def sequence_head(self, width: int, outputs: int, bias: bool) -> SequenceHead:
        return SequenceHead(width, outputs, self.reading, self.dropout, bias, self.read)


def examples_of(rows: Sequence[Row]) -> list[EncodedExample]:
    return [row.example for row in rows if row.example is not None]


def to_batch(
    examples: Sequence[EncodedExample],
    tokenizer: Tokenizer,
    reading: Reading,
    targets: dict[str, Tensor],
    units: dict[str, Unit],
    tells_padding: bool = False,
) -> ExampleBatch:
    sequences = [sequence for example in examples for sequence in example.sequences]
    fill = tokenizer.special("[pad]") if tokenizer.has("[pad]") else 0
    lengths = torch.tensor([len(sequence.ids) for sequence in sequences])
    there = torch.arange(int(lengths.max())) < lengths[:, None]
    ids = padded([sequence.ids for sequence in sequences], fill)
    real = there if (tells_padding or reading != "last") and not bool(there.all()) else None
    segments = None
    if tells_padding or reading != "last":
        segments = padded([np.zeros_like(one.ids) if one.segments is None else one.segments for one in sequences], 0)
    counts = tuple(len(one.sequences) for one in examples)
    return ExampleBatch(Inputs(ids, real, segments), targets, there=there, counts=counts, units=units)


def joined(states: Tensor, counts: Sequence[int], how: Literal["sum", "mean"]) -> Tensor:
    """states [sequences, width] -> [examples, width]: those of an example added up, or their mean."""
    if all(count == 1 for count in counts):
        return states
    parts = states.split(list(counts))
    return torch.stack([part.sum(0) if how == "sum" else part.mean(0) for part in parts])


def numbers(examples: Sequence[EncodedExample], dtype: torch.dtype, nothing: object) -> Tensor:
    """One number for each example."""
    return torch.tensor([nothing if one.target is None else one.target.item() for one in examples], dtype=dtype)


def charged(targets: Tensor) -> Tensor:
    """[examples] which have a target."""
    asked = ~targets.isnan() if targets.is_floating_point() else targets != NOTHING
    return asked if asked.dim() == 1 else asked.any(1)
