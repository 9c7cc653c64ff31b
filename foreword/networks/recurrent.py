"""Recurrent: one vector is all that is carried from word to word. RNNLM and the LSTM language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from foreword.basics.numbers import Layers, Size
from foreword.basics.registry import Registry
from foreword.networks.base import Inputs, Network, NetworkSpec, Output, State
from foreword.networks.language_model import NeuralReader
from foreword.parts import BETWEEN, CELLS, WORDS
from foreword.parts.cells import CellSpec, Hold, RecurrentDropout, Stack, carried
from foreword.parts.experts import BetweenLayersSpec, NothingBetween
from foreword.parts.initial import RecurrentInitial
from foreword.parts.words import TableSpec, WordsSpec, WordTable
from foreword.tokens.vocabulary import Vocabulary


class RecurrentSpec(NetworkSpec):
    kind: Literal["recurrent"] = "recurrent"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "added"})
    chosen: ClassVar[Mapping[str, Registry]] = {"cell": CELLS, "words": WORDS, "between": BETWEEN}
    cell: SerializeAsAny[CellSpec]
    width: Size
    layers: Layers = 1
    embedding: Size | None = None  # width of the word vectors; as the cell reads them by default: `width`, for most
    words: SerializeAsAny[WordsSpec] = TableSpec()
    between: SerializeAsAny[BetweenLayersSpec] = NothingBetween()
    residual: bool = False  # layers above the first add to what they read
    skips: bool = False  # every layer also reads the word vectors, and the head reads every layer (Graves 2013)
    dropout: float | RecurrentDropout = 0.0  # a number: on the word vectors, between layers and on the last output
    initial: RecurrentInitial = RecurrentInitial()

    @property
    def token_width(self) -> int:
        return self.embedding or self.cell.vectors(self.width)

    @property
    def output_width(self) -> int:
        return self.cell.outputs(self.width) * (self.layers if self.skips else 1)

    def stack(self) -> Stack:
        made = self.cell.build(self.width, self.token_width, self.layers, self.rates(), self.skips)
        made.residual = self.residual
        between = [self.between.build(self.cell.outputs(self.width)) for _ in range(self.layers - 1)]
        if between and between[0] is not None:
            made.between = nn.ModuleList(filter(None, between))
        return made

    def rates(self) -> RecurrentDropout:
        if isinstance(self.dropout, RecurrentDropout):
            return self.dropout
        return RecurrentDropout(input=self.dropout, between=self.dropout, output=self.dropout)

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if self.residual and self.skips:
            found.append(
                ("residual", "a layer that adds to what it reads must be as wide: residual or skips, not both.")
            )
        return found or self.cell.misfits(self.width, self.token_width, self.layers)

    def build(self, vocabulary: Vocabulary) -> Recurrent:
        return Recurrent(self, vocabulary)


def overwritten(units: Tensor, values: Mapping[int, float]) -> Tensor:
    """units [batch, width], a copy of which has these values."""
    units = units.clone()
    for place, value in values.items():
        units[:, place] = value
    return units


class Recurrent(Network):
    reads = frozenset({"ids", "real", "added"})

    def __init__(self, spec: RecurrentSpec, vocabulary: Vocabulary):
        super().__init__()
        self.spec, self.dropout = spec, spec.rates()
        self.width = spec.output_width
        self.tokens = spec.words.build(vocabulary, spec.token_width)
        self.cell = spec.stack()
        self.draw(self)
        for part in self.cell.modules():
            settle: Any = getattr(part, "settle_table", None)
            if settle is not None:
                settle(self.table())

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        x = self.tokens(inputs.ids, self.dropout.words if self.training else 0.0)
        x = x if inputs.added is None else x + inputs.added
        x = self.dropout.on(x, self.dropout.input, 1) if self.training else x
        state = self.cell.start(x.size(0), x) if state is None else state
        layers, state = self.cell(x, state, inputs.real)
        last = torch.cat(layers, -1) if self.spec.skips else layers[-1]
        last = self.dropout.on(last, self.dropout.output, 1) if self.training else last
        carried = tree_map(lambda part: part.detach(), state)  # no gradient across calls
        costs = {
            f"{name} {number}": cost
            for number, part in enumerate(self.cell.between or ())
            for name, cost in part.costs.items()
        }
        return Output(last, (x, *layers), carried, costs)

    def table(self) -> Tensor:
        return self.tokens.every()

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight} if isinstance(self.tokens, WordTable) else {}

    def levels(self) -> list[list[nn.Parameter]]:
        levels = [list(self.tokens.parameters()), *self.cell.levels()]
        for level, part in zip(levels[2:], self.cell.between or ()):
            level += part.parameters()
        return levels

    def units(self, state: State) -> Tensor:
        return torch.cat(carried(state), -1)

    @contextmanager
    def clamped(self, values: Mapping[int, float]) -> Iterator[None]:
        widths = [part.size(-1) for part in carried(self.cell.start(1, self.table()))]
        first, holds = 0, dict[int, Hold]()
        for layer, width in enumerate(widths):
            if mine := {unit - first: value for unit, value in values.items() if first <= unit < first + width}:
                holds[layer] = partial(overwritten, values=mine)
            first += width
        self.cell.hold(holds)
        try:
            yield
        finally:
            self.cell.hold({})

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.draw(module)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        return NeuralReader(self, head, vocabulary, Inputs)
