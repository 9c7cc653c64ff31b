"""WithNgrams: a network that reads tokens in order, and tables of n-grams below it and before its head."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from foreword.networks.base import Inputs, Network, Output, State
from foreword.networks.decoding import Decoder
from foreword.networks.language_model import NeuralReader
from foreword.parts.ngrams import NONE, NgramsSpec, NgramTables
from foreword.tokens.vocabulary import Vocabulary


class Carried(NamedTuple):
    """The last ids, which the next n-grams begin with, and what the network remembers."""

    ids: Tensor  # [batch, before], NONE where no token stands
    inner: State


class WithNgrams(Network):
    def __init__(self, inner: Network, spec: NgramsSpec):
        super().__init__()
        self.inner, self.reads = inner, inner.reads  # type: ignore[misc]
        self.width, self.context = inner.width, inner.context
        self.ngrams = NgramTables(spec, {"bottom": inner.table().size(1), "head": inner.width})

    @property
    def reach(self) -> int | None:
        seen = self.inner.reach
        return seen if seen is None or self.context is not None else seen + self.ngrams.spec.before

    def forward(self, inputs: Inputs, state: Carried | None = None) -> Output:
        ids = inputs.ids if inputs.real is None else inputs.ids.masked_fill(~inputs.real, NONE)
        before = ids.new_full((len(ids), self.ngrams.spec.before), NONE) if state is None else state.ids
        ids = torch.cat([before, ids], 1)
        rows = self.ngrams.numbers(ids)
        output = self.inner(
            replace(inputs, added=self.ngrams.at("bottom", rows)), None if state is None else state.inner
        )
        more = self.ngrams.at("head", rows)
        last = output.last if more is None else output.last + more
        return replace(output, last=last, state=Carried(ids[:, inputs.ids.size(1) :], output.state))

    def tables(self) -> dict[str, Tensor]:
        return self.inner.tables()

    def table(self) -> Tensor:
        return self.inner.table()

    def vector(self, vectors: Tensor) -> Tensor:
        return self.inner.vector(vectors)

    def levels(self) -> list[list[nn.Parameter]]:
        below, *layers = self.inner.levels()
        own = [p for place, part in self.ngrams.places.items() if place == "bottom" for p in part.parameters()]
        return [[*below, *own], *layers]

    @property
    def reads_left_to_right(self) -> bool:
        return self.inner.reads_left_to_right

    def units(self, state: Carried) -> Tensor | None:
        return self.inner.units(state.inner)

    def clamped(self, values: Mapping[int, float]) -> AbstractContextManager[None]:
        return self.inner.clamped(values)

    def draw(self, module: nn.Module) -> None:
        self.inner.draw(module)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        reader = self.inner.language_model(head, vocabulary)
        if isinstance(reader, Decoder) or not isinstance(reader, NeuralReader):  # its cache knows no n-grams
            return NeuralReader(self, head, vocabulary, Inputs)
        reader.network = self
        return reader
