"""The LSTM of Graves 2013 (eq. 7-11): its gates look at the cell through diagonal weights."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from foreword.basics.numbers import NotNegative
from foreword.parts.cells import CellSpec
from foreword.parts.lstm import LstmCell, LstmLayer


class PeepholeLstmCell(LstmCell):
    """Graves 2013: gates also look at the cell itself, each at its own unit."""

    kind: Literal["peephole_lstm"] = "peephole_lstm"  # type: ignore[assignment]
    gradient_clip: NotNegative | None = None  # what goes back into the gates, element by element, while it goes back

    def layer(self, inputs: int, width: int) -> PeepholeLayer:
        made = PeepholeLayer(inputs, width, self.projection, self.clip, self.forget_bias)
        made.gradient_clip = self.gradient_clip
        return made

    build = CellSpec.build


class PeepholeLayer(LstmLayer):
    gradient_clip: float | None = None
    gradient_scale = 1.0  # of the loss that is passed back

    def __init__(self, inputs: int, width: int, *more: Any):
        super().__init__(inputs, width, *more)
        self.peepholes = nn.Parameter(torch.zeros(3, width))  # input, forget, output

    def update(self, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        if self.gradient_clip is not None and gates.requires_grad:
            limit = self.gradient_clip * self.gradient_scale
            gates.register_hook(lambda slope: slope.clamp(-limit, limit))
        (i, f, g, o), (look_i, look_f, look_o) = gates.chunk(4, -1), self.peepholes
        new = self.kept((f + look_f * cell).sigmoid() * cell + (i + look_i * cell).sigmoid() * g.tanh())
        return self.shown(o + look_o * new, new), new  # the output gate sees the new cell, the others the old one
