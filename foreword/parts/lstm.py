"""Long short-term memory: torch's own where it can be, position by position where the cell differs from it."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import NotNegative, Size
from foreword.parts.cells import CellSpec, Hold, RecurrentDropout, Stack, State, held

warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")  # it works all the same


class LstmCell(CellSpec):
    """Long short-term memory (Hochreiter & Schmidhuber 1997), stacked."""

    kind: Literal["lstm"] = "lstm"
    projection: Size | None = None  # what a layer gives, and reads of itself, is mapped to this width (Sak et al. 2014)
    clip: NotNegative | None = None  # the cell, and what it is mapped to, stay within it (ELMo's code)
    forget_bias: float | None = None  # of the forget gate at first; drawn like the others by default

    def outputs(self, width: int) -> int:
        return self.projection or width

    def layer(self, inputs: int, width: int) -> LstmLayer:
        return LstmLayer(inputs, width, self.projection, self.clip, self.forget_bias)

    def build(
        self, width: int, inputs: int, layers: int, dropout: RecurrentDropout | None = None, skips: bool = False
    ) -> Stack:
        if self.clip is not None or (skips and layers > 1):  # torch's own clips nothing, and its layers are all alike
            return super().build(width, inputs, layers, dropout, skips)
        return Lstm(width, inputs, layers, dropout or RecurrentDropout(), self.projection, self.forget_bias)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        if self.projection is None or self.projection < width:
            return []
        return [("cell", f"projection {self.projection} must be narrower than the cell's width of {width}.")]


class Lstm(Stack):
    """torch's LSTM, one layer after the other, so that each can be read."""

    def __init__(
        self,
        width: int,
        inputs: int,
        layers: int,
        dropout: RecurrentDropout,
        projection: int | None,
        forget_bias: float | None,
    ):
        super().__init__(dropout, skips=False)
        self.width, self.outputs, self.forget_bias = width, projection or width, forget_bias
        self.lstm = nn.LSTM(inputs, width, layers, proj_size=projection or 0)

    def start(self, batch: int, like: Tensor) -> State:
        hidden, cell = like.new_zeros(batch, self.outputs), like.new_zeros(batch, self.width)
        return ((hidden, cell),) * self.lstm.num_layers

    def settle(self) -> None:
        if self.forget_bias is not None:
            for name in (f"bias_ih_l{number}" for number in range(self.lstm.num_layers)):
                getattr(self.lstm, name).data[self.width : 2 * self.width] = self.forget_bias

    def levels(self) -> list[list[nn.Parameter]]:
        return [[getattr(self.lstm, name) for name in names] for names in self.lstm._all_weights]

    def run(self, number: int, x: Tensor, state: State) -> tuple[Tensor, State]:
        weights: list[Tensor] = [getattr(self.lstm, name) for name in self.lstm._all_weights[number]]
        if self.dropout.weights and self.training:
            weights[1] = F.dropout(weights[1], self.dropout.weights)
        if number in self.holds:
            return self._holding(x, state, weights, self.holds[number])
        first = tuple(part[None].contiguous() for part in state)
        out, *after = torch.lstm(x, first, weights, True, 1, 0.0, self.training, False, False)
        return out, tuple(part[0] for part in after)

    def _holding(self, x: Tensor, state: State, weights: list[Tensor], hold: Hold) -> tuple[Tensor, State]:
        """Position by position: what the cell is overwritten with must be there before its output is made."""
        (hidden, cell), outputs = state, []
        into, recurrent, bias, other, *project = weights
        for now in F.linear(x, into, bias):
            i, f, g, o = (now + F.linear(hidden, recurrent, other)).chunk(4, -1)
            cell = hold(f.sigmoid() * cell + i.sigmoid() * g.tanh())
            hidden = o.sigmoid() * cell.tanh()
            hidden = F.linear(hidden, project[0]) if project else hidden
            outputs.append(hidden)
        return torch.stack(outputs), (hidden, cell)


class LstmLayer(nn.Module):
    """One layer, position by position. Gates in torch's order: input, forget, candidate, output."""

    hold: Hold | None = None

    def __init__(
        self,
        inputs: int,
        width: int,
        projection: int | None = None,
        clip: float | None = None,
        forget_bias: float | None = None,
    ):
        super().__init__()
        self.width, self.outputs, self.clip, self.forget_bias = width, projection or width, clip, forget_bias
        self.inputs = nn.Linear(inputs, 4 * width)
        self.recurrent: Any = nn.Linear(self.outputs, 4 * width, bias=False)
        self.project = nn.Linear(width, projection, bias=False) if projection else None

    def start(self, batch: int, like: Tensor) -> State:
        return like.new_zeros(batch, self.outputs), like.new_zeros(batch, self.width)

    def settle(self) -> None:
        """What the cell begins with, however the other weights are drawn."""
        if self.forget_bias is not None:
            self.inputs.bias.data[self.width : 2 * self.width] = self.forget_bias

    def read(self, x: Tensor) -> Tensor:
        """What all positions say to the gates, at once."""
        return self.inputs(x)

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, cell = state
        outputs = []
        for now in self.read(x).unbind(0):
            hidden, cell = self.step(now, hidden, cell)
            outputs.append(hidden)
        return torch.stack(outputs), (hidden, cell)

    def step(self, now: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        return self.update(now + self.recurrent(hidden), cell)

    def update(self, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = gates.chunk(4, -1)
        cell = self.kept(f.sigmoid() * cell + i.sigmoid() * g.tanh())
        return self.shown(o, cell), cell

    def kept(self, cell: Tensor) -> Tensor:
        return held(self.hold, self.within(cell))

    def shown(self, o: Tensor, cell: Tensor) -> Tensor:
        hidden = o.sigmoid() * cell.tanh()
        return hidden if self.project is None else self.within(self.project(hidden))

    def within(self, x: Tensor) -> Tensor:
        return x if self.clip is None else x.clamp(-self.clip, self.clip)
