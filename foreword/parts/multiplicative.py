"""Multiplicative RNN: every token chooses its own matrix from state to state (Sutskever et al. 2011)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.parts.cells import CellSpec, Hold, as_wide, held, one_layer


class MultiplicativeCell(CellSpec):
    """Sutskever et al. 2011: h' = tanh(W_hf diag(W_fx x) W_fh h + W_hx x + b).

    Characters are one-hot, so W_fx and W_hx have a row for each: the table of token vectors holds both, side by side.
    """

    kind: Literal["multiplicative"] = "multiplicative"
    factors: Size | None = None  # as many as the width by default, as in the paper

    def vectors(self, width: int) -> int:
        return (self.factors or width) + width

    def layer(self, inputs: int, width: int) -> Multiplicative:
        return Multiplicative(width, self.factors or width)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        return one_layer(self.kind, layers) + as_wide(self.kind, inputs, self.vectors(width))


class Multiplicative(nn.Module):
    hold: Hold | None = None

    def __init__(self, width: int, factors: int):
        super().__init__()
        self.width, self.factors = width, factors
        self.to_factors = nn.Linear(width, factors, bias=False)  # W_fh
        self.recurrent = nn.Linear(factors, width)  # W_hf, b_h

    def start(self, batch: int, like: Tensor) -> Tensor:
        return like.new_zeros(batch, self.width)

    def matrix(self, vector: Tensor) -> Tensor:
        """From state to state, as the token with this vector has it. [width, width]"""
        return self.recurrent.weight @ (vector[: self.factors, None] * self.to_factors.weight)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        outputs = []
        for now in x.unbind(0):
            chosen, added = now.split([self.factors, self.width], -1)
            state = held(self.hold, (self.recurrent(chosen * self.to_factors(state)) + added).tanh())
            outputs.append(state)
        return torch.stack(outputs), state

    def settle(self) -> None:
        """A product of small numbers vanishes: the maps to and from the factors keep lengths at first."""
        nn.init.orthogonal_(self.to_factors.weight)
        nn.init.orthogonal_(self.recurrent.weight)

    def settle_table(self, table: Tensor) -> None:
        """And every token begins with factors around one."""
        table.data[:, : self.factors] += 1.0


class TensorCell(CellSpec):
    """The same without factors: a whole matrix for each token, which the table holds. For small alphabets."""

    kind: Literal["tensor"] = "tensor"

    def vectors(self, width: int) -> int:
        return width * width + width

    def layer(self, inputs: int, width: int) -> TensorRnn:
        return TensorRnn(width)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        return one_layer(self.kind, layers) + as_wide(self.kind, inputs, self.vectors(width))


class TensorRnn(nn.Module):
    hold: Hold | None = None

    def __init__(self, width: int):
        super().__init__()
        self.width = width
        self.bias = nn.Parameter(torch.zeros(width))

    def start(self, batch: int, like: Tensor) -> Tensor:
        return like.new_zeros(batch, self.width)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        outputs = []
        for now in x.unbind(0):
            matrix, added = now.split([self.width**2, self.width], -1)
            chosen = matrix.unflatten(-1, (self.width, self.width))
            state = held(self.hold, ((chosen @ state[..., None])[..., 0] + added + self.bias).tanh())
            outputs.append(state)
        return torch.stack(outputs), state
