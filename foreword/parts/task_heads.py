"""Heads for labelled tasks: one vector of a sequence, or the vector of every position, becomes classes and scores."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from foreword.kernels.elementwise import Dropout

# where a sequence is read off: a bidirectional network, a causal one, one that looks both ways and has [cls] behind
# (XLNet), and one that writes its answer
Reading = Literal["first", "last", "end", "text"]
# the vector there, or the mean of all: a small network puts little into one place; "ends": beside it the mean of the tokens' own
Read = Literal["place", "mean", "ends"]


def first(there: Tensor) -> Tensor:
    """there [sequences, positions], False at padding -> the place of the first token of each."""
    return there.int().argmax(1)


def last(there: Tensor) -> Tensor:
    """The place of the last token of each, whichever side the padding is on."""
    return there.size(1) - 1 - there.flip(1).int().argmax(1)


READINGS = {"first": first, "last": last, "end": last}


def mean_of(vectors: Tensor, there: Tensor) -> Tensor:
    """vectors [sequences, positions, width] -> [sequences, width], without padding."""
    return vectors.masked_fill(~there[..., None], 0.0).sum(1) / there.sum(1, keepdim=True)


class SequenceHead(nn.Module):
    """Outputs from one vector of a sequence; that of [cls] goes through a dense layer and tanh, as BERT has it.

    Or from the mean of all its vectors, as it is.
    """

    def __init__(
        self, width: int, outputs: int, reading: Reading, dropout: float, bias: bool = True, read: Read = "place"
    ):
        super().__init__()
        self.place = READINGS[reading] if read == "place" else None
        self.pool = nn.Linear(width, width) if reading != "last" and read == "place" else None
        self.drop = Dropout(dropout)
        self.out = nn.Linear(width, outputs, bias)

    def states(self, hidden: Tensor, there: Tensor) -> Tensor:
        """hidden [sequences, positions, width] -> [sequences, width]"""
        if self.place is None:
            return mean_of(hidden, there)
        vectors = hidden[torch.arange(len(hidden), device=hidden.device), self.place(there)]
        return vectors if self.pool is None else self.pool(vectors).tanh()

    def forward(self, states: Tensor) -> Tensor:
        """[..., width] -> [..., outputs]"""
        return self.out(self.drop(states))


class PositionHead(nn.Module):
    """Outputs from the vector of every position."""

    def __init__(self, width: int, outputs: int, dropout: float):
        super().__init__()
        self.drop = Dropout(dropout)
        self.out = nn.Linear(width, outputs)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., width] -> [..., outputs]"""
        return self.out(self.drop(hidden))
