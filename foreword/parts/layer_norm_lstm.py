"""The LSTM with layer norm (Ba et al. 2016, eq. 20-22)."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from foreword.parts.cells import CellSpec
from foreword.parts.lstm import LstmCell, LstmLayer


class LayerNormLstmCell(LstmCell):
    """Ba et al. 2016: what comes in, what comes back and the cell are each normalised."""

    kind: Literal["layer_norm_lstm"] = "layer_norm_lstm"  # type: ignore[assignment]

    def layer(self, inputs: int, width: int) -> LayerNormLayer:
        return LayerNormLayer(inputs, width, self.projection, self.clip, self.forget_bias)

    build = CellSpec.build


class LayerNormLayer(LstmLayer):
    def __init__(self, inputs: int, width: int, *more: Any):
        super().__init__(inputs, width, *more)
        self.bias = nn.Parameter(torch.zeros(4 * width))
        self.inputs = nn.Linear(inputs, 4 * width, bias=False)
        self.norms = nn.ModuleList([nn.LayerNorm(size) for size in (4 * width, 4 * width, width)])

    def settle(self) -> None:
        if self.forget_bias is not None:
            self.bias.data[self.width : 2 * self.width] = self.forget_bias

    def read(self, x: Tensor) -> Tensor:
        return self.norms[0](self.inputs(x)) + self.bias

    def step(self, now: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        return self.update(now + self.norms[1](self.recurrent(hidden)), cell)

    def shown(self, o: Tensor, cell: Tensor) -> Tensor:
        return super().shown(o, self.norms[2](cell))
