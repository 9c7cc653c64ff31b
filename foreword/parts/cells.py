"""Recurrent cells: what is kept from one position to the next. All states are [batch, ...]."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.spec import Spec


class CellSpec(Spec):
    """The settings of a cell; `build` makes it."""

    def build(self, width: int, inputs: int, layers: int, dropout: float) -> nn.Module:
        raise TypeError(f"{type(self).__name__} has no build.")

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        """Settings of the network that this cell cannot follow."""
        return []


class SimpleCell(CellSpec):
    """Elman's network as in RNNLM (Mikolov et al. 2010): s(t) = sigmoid(x(t) + U s(t-1)), no biases.

    The table of word vectors is the matrix from word to hidden layer, so the cell holds only U.
    """

    kind: Literal["simple"] = "simple"
    bptt: int = 1  # how many steps a gradient goes back; the paper went one

    def build(self, width: int, inputs: int, layers: int, dropout: float) -> Simple:
        return Simple(width, self.bptt)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        found = []
        if layers != 1:
            found.append(("layers", f"the simple cell has one layer (it says {layers})."))
        if inputs != width:
            found.append(
                (
                    "embedding",
                    f"the simple cell adds word vectors to its state: embedding {inputs} must equal width {width}.",
                )
            )
        return found


class Simple(nn.Module):
    def __init__(self, width: int, bptt: int):
        super().__init__()
        self.width, self.bptt = width, bptt
        self.recurrent = nn.Linear(width, width, bias=False)

    def start(self, batch: int, like: Tensor) -> Tensor:
        return like.new_full((batch, self.width), 0.1)  # "small values", section 2 of the paper

    def levels(self) -> list[list[nn.Parameter]]:
        return [list(self.parameters())]

    def forward(self, x: Tensor, state: Tensor) -> tuple[list[Tensor], Tensor]:
        """x [batch, positions, width], state [batch, width] -> the outputs of each layer, the last state."""
        outputs = []
        for t, now in enumerate(x.unbind(1)):
            if t % self.bptt == 0:
                state = state.detach()
            state = torch.sigmoid(now + self.recurrent(state))
            outputs.append(state)
        return [torch.stack(outputs, 1)], state


class LstmCell(CellSpec):
    """Long short-term memory (Hochreiter & Schmidhuber 1997), stacked, dropout between layers only (Zaremba 2014)."""

    kind: Literal["lstm"] = "lstm"

    def build(self, width: int, inputs: int, layers: int, dropout: float) -> Lstm:
        return Lstm(width, inputs, layers, dropout)


class Lstm(nn.Module):
    def __init__(self, width: int, inputs: int, layers: int, dropout: float):
        super().__init__()
        self.width, self.layers = width, layers
        self.lstm = nn.LSTM(inputs, width, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)

    def start(self, batch: int, like: Tensor) -> tuple[Tensor, Tensor]:
        zeros = like.new_zeros(batch, self.layers, self.width)
        return zeros, zeros

    def levels(self) -> list[list[nn.Parameter]]:
        return [[getattr(self.lstm, name) for name in names] for names in self.lstm._all_weights]

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
        """One layer after the other, so that each can be read."""
        x, outputs, ends = x.transpose(0, 1), [], []  # positions first, as torch's own dropout between layers has them
        for layer, (weights, *before) in enumerate(zip(self.levels(), *(part.unbind(1) for part in state))):
            if layer:
                x = F.dropout(x, self.lstm.dropout, self.training)
            first = tuple(part[None].contiguous() for part in before)
            x, *after = torch.lstm(x, first, weights, True, 1, 0.0, self.training, False, False)
            outputs.append(x.transpose(0, 1))
            ends.append([part[0] for part in after])
        hidden, cell = (torch.stack(parts, 1) for parts in zip(*ends))
        return outputs, (hidden, cell)
