"""Gated recurrent units, in the two forms that are in use: they differ in where the reset gate stands."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.cells import CellSpec, Hold, RecurrentDropout, Stack, State, held


class GruCell(CellSpec):
    """Gated recurrent unit (Cho et al. 2014).

    `reset = "before"`: the paper's, and Skip-Thought's: U (r * h), no biases, h' = (1 - z) * h + z * g.
    `reset = "after"`: cuDNN's and torch's: r * (U h + b), two biases, and z keeps what it replaces in the paper.
    """

    kind: Literal["gru"] = "gru"
    reset: Literal["before", "after"] = "after"

    def layer(self, inputs: int, width: int) -> GruLayer:
        return GruLayer(inputs, width)

    def build(
        self, width: int, inputs: int, layers: int, dropout: RecurrentDropout | None = None, skips: bool = False
    ) -> Stack:
        if self.reset == "before":
            return super().build(width, inputs, layers, dropout, skips)
        return Gru(width, inputs, layers, dropout or RecurrentDropout(), skips)


class Gru(Stack):
    """torch's GRU, one layer after the other."""

    def __init__(self, width: int, inputs: int, layers: int, dropout: RecurrentDropout, skips: bool):
        super().__init__(dropout, skips)
        self.width = width
        above = width + inputs * skips
        self.layers = nn.ModuleList([nn.GRU(above if number else inputs, width) for number in range(layers)])

    def start(self, batch: int, like: Tensor) -> State:
        return (like.new_zeros(batch, self.width),) * len(self.layers)

    def levels(self) -> list[list[nn.Parameter]]:
        return [list(layer.parameters()) for layer in self.layers]

    def run(self, number: int, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if (hold := self.holds.get(number)) is None:
            return self._read(number, x, state)
        outputs = []
        for now in x.split(1):
            state = hold(self._read(number, now, state)[1])
            outputs.append(state)
        return torch.stack(outputs), state

    def _read(self, number: int, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        weights: list[Tensor] = list(self.layers[number].parameters())
        if self.dropout.weights and self.training:
            weights[1] = F.dropout(weights[1], self.dropout.weights)
        out, after = torch.gru(x, state[None].contiguous(), weights, True, 1, 0.0, self.training, False, False)
        return out, after[0]


class GruLayer(nn.Module):
    """Reset before the recurrent matrix (Kiros et al. 2015, eq. 1-4). Gates: reset, update, candidate."""

    hold: Hold | None = None

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.width = width
        self.inputs = nn.Linear(inputs, 3 * width, bias=False)
        self.gates = nn.Linear(width, 2 * width, bias=False)
        self.candidate = nn.Linear(width, width, bias=False)

    def start(self, batch: int, like: Tensor) -> Tensor:
        return like.new_zeros(batch, self.width)

    def settle(self) -> None:
        """Recurrent matrices keep lengths at first ("orthogonal initialization", section 3.1)."""
        for matrix in (*self.gates.weight.chunk(2), self.candidate.weight):
            nn.init.orthogonal_(matrix)

    def forward(self, x: Tensor, state: Tensor, said: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """`said` [batch, 3 width]: what every gate hears at every position, beside the word (eq. 5-7)."""
        outputs = []
        read = self.inputs(x) if said is None else self.inputs(x) + said
        for now in read.unbind(0):
            r, z = (now[:, : 2 * self.width] + self.gates(state)).sigmoid().chunk(2, -1)
            g = (now[:, 2 * self.width :] + self.candidate(r * state)).tanh()
            state = held(self.hold, torch.lerp(state, g, z))  # (1 - z) * state + z * g
            outputs.append(state)
        return torch.stack(outputs), state
