"""Window: a few words, side by side, into one hidden layer. The neural probabilistic language model."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Below1, Size
from foreword.networks.base import Inputs, Network, NetworkSpec, Output, State
from foreword.networks.language_model import NeuralReader
from foreword.parts.initial import RecurrentInitial
from foreword.tokens.vocabulary import Vocabulary


class WindowSpec(NetworkSpec):
    """Bengio et al. 2003: y = b + W x + U tanh(d + H x), x the vectors of the last words, newest first."""

    kind: Literal["window"] = "window"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real"})
    window: Size  # how many words are seen: the paper's n - 1
    embedding: Size  # width of the word vectors, m
    width: Size  # of the hidden layer, h
    direct: bool = True  # the head reads the words too (W)
    dropout: Below1 = 0.0  # on what the head reads
    initial: RecurrentInitial = RecurrentInitial()

    def build(self, vocabulary: Vocabulary) -> Window:
        return Window(self, vocabulary)


class Window(Network):
    reads = frozenset({"ids", "real"})

    def __init__(self, spec: WindowSpec, vocabulary: Vocabulary):
        super().__init__()
        self.spec, self.before = spec, max(vocabulary.end, 0)  # before a text stands the end of another
        words = spec.window * spec.embedding
        self.width = spec.width + words * spec.direct
        self.tokens = nn.Embedding(vocabulary.size, spec.embedding)
        self.hidden = nn.Linear(words, spec.width)
        self.drop = nn.Dropout(spec.dropout)
        self.draw(self)

    @property
    def reach(self) -> int:
        return self.spec.window

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        ids, (batch, positions) = inputs.ids, inputs.ids.shape
        if inputs.real is not None:
            ids = ids.masked_fill(~inputs.real, self.before)
        if state is None:
            state = ids.new_full((batch, self.spec.window - 1), self.before)
        seen = torch.cat([state, ids], 1)
        vectors = self.tokens(seen)
        newest = self.spec.window - 1
        x = torch.cat([vectors[:, newest - back : newest - back + positions] for back in range(newest + 1)], -1)
        hidden = self.hidden(x).tanh()
        last = torch.cat([hidden, x], -1) if self.spec.direct else hidden
        return Output(self.drop(last), (vectors[:, newest:], hidden), seen[:, positions:])

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight}

    def levels(self) -> list[list[nn.Parameter]]:
        return [list(part.parameters()) for part in (self.tokens, self.hidden)]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.draw(module)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> NeuralReader:
        return NeuralReader(self, head, vocabulary, Inputs)
