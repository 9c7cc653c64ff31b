"""Recurrent: one vector is all that is carried from word to word. RNNLM and the LSTM language models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.networks.base import Inputs, Network, NetworkSpec, Output, State
from foreword.networks.language_model import NeuralReader
from foreword.parts import CELLS
from foreword.parts.cells import CellSpec
from foreword.tokens.vocabulary import Vocabulary


class RecurrentInitial(Spec):
    """How weights are drawn: uniformly within `range`, or normally with `deviation`."""

    range: float | None = None
    deviation: float = 0.1


class RecurrentSpec(NetworkSpec):
    kind: Literal["recurrent"] = "recurrent"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real"})
    chosen: ClassVar[Mapping[str, Registry]] = {"cell": CELLS}
    cell: SerializeAsAny[CellSpec]
    width: int
    layers: int = 1
    embedding: int | None = None  # width of the word vectors; `width` by default
    dropout: float = 0.0  # on the word vectors, between layers and on the last output
    initial: RecurrentInitial = RecurrentInitial()

    def faults(self) -> list[tuple[str, str]]:
        return self.cell.misfits(self.width, self.embedding or self.width, self.layers)

    def build(self, vocabulary: Vocabulary) -> Recurrent:
        return Recurrent(self, vocabulary.size)


class Recurrent(Network):
    reads = frozenset({"ids", "real"})

    def __init__(self, spec: RecurrentSpec, vocabulary: int):
        super().__init__()
        self.spec, self.width = spec, spec.width
        inputs = spec.embedding or spec.width
        self.tokens = nn.Embedding(vocabulary, inputs)
        self.drop = nn.Dropout(spec.dropout)
        self.cell: Any = spec.cell.build(spec.width, inputs, spec.layers, spec.dropout)
        self.draw(self)

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        x = self.drop(self.tokens(inputs.ids))
        state = self.cell.start(x.size(0), x) if state is None else state
        if inputs.real is None:
            layers, state = self.cell(x, state)
        else:
            layers, state = self._around_padding(x, state, inputs.real)
        carried = tree_map(lambda part: part.detach(), state)  # no gradient across calls
        return Output(self.drop(layers[-1]), (x, *layers), carried)

    def _around_padding(self, x: Tensor, state: State, real: Tensor) -> tuple[list[Tensor], State]:
        """Position by position; a padding position leaves the state as it was."""
        outputs = []
        for now, there in zip(x.split(1, 1), real.unbind(1)):
            out, after = self.cell(now, state)
            state = tree_map(
                lambda new, old, t=there: torch.where(t.view(-1, *[1] * (new.dim() - 1)), new, old), after, state
            )
            outputs.append(out)
        return [torch.cat(layer, 1) for layer in zip(*outputs)], state

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight}

    def levels(self) -> list[list[nn.Parameter]]:
        return [[self.tokens.weight], *self.cell.levels()]

    def draw(self, module: nn.Module) -> None:
        for name, weight in module.named_parameters():
            if self.spec.initial.range is not None:
                nn.init.uniform_(weight, -self.spec.initial.range, self.spec.initial.range)
            elif "bias" in name:
                nn.init.zeros_(weight)
            else:
                nn.init.normal_(weight, 0.0, self.spec.initial.deviation)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        return NeuralReader(self, head, vocabulary, Inputs)
