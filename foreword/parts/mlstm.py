"""Multiplicative LSTM (Krause et al. 2016), with the weight normalisation of the sentiment neuron (Radford et al. 2017)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.parts.cells import CellSpec
from foreword.parts.lstm import LstmCell, LstmLayer


class MultiplicativeLstmCell(LstmCell):
    """Krause et al. 2016: the LSTM reads m = (W_mx x) * (W_mh h) in the place of h."""

    kind: Literal["mlstm"] = "mlstm"  # type: ignore[assignment]
    weight_norm: bool = True  # length and direction of each row apart (Salimans & Kingma 2016), in all four matrices

    def layer(self, inputs: int, width: int) -> MultiplicativeLstm:
        return MultiplicativeLstm(inputs, width, self)

    build = CellSpec.build


class MultiplicativeLstm(LstmLayer):
    def __init__(self, inputs: int, width: int, spec: MultiplicativeLstmCell):
        super().__init__(inputs, width, spec.projection, spec.clip, spec.forget_bias)
        linear = NormedLinear if spec.weight_norm else nn.Linear
        self.inputs = linear(inputs, 4 * width)  # type: ignore[assignment]
        self.recurrent = linear(width, 4 * width, bias=False)
        self.factor_inputs = linear(inputs, width, bias=False)
        self.factors = linear(self.outputs, width, bias=False)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden, cell = state
        recurrent, factors = self.recurrent.weight, self.factors.weight  # normalised once, not at every position
        outputs = []
        for now, chosen in zip(self.read(x).unbind(0), self.factor_inputs(x).unbind(0)):
            m = chosen * F.linear(hidden, factors)
            hidden, cell = self.update(now + F.linear(m, recurrent), cell)
            outputs.append(hidden)
        return torch.stack(outputs), (hidden, cell)


class NormedLinear(nn.Module):
    """A linear map whose rows have their length apart: scaling `direction` changes nothing."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True):
        super().__init__()
        self.direction = nn.Parameter(torch.empty(outputs, inputs).normal_(0, inputs**-0.5))
        self.length = nn.Parameter(torch.ones(outputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    @property
    def weight(self) -> Tensor:
        return F.normalize(self.direction, dim=1) * self.length[:, None]

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)

    def settle(self) -> None:
        nn.init.ones_(self.length)
