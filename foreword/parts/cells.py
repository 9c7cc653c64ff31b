"""Recurrent cells: what is kept from one position to the next, and how layers of them are stacked.

A layer reads [positions, batch, inputs] and a state of [batch, ...] tensors; it returns [positions, batch, width] and a state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from foreword.basics.numbers import Below1, Size
from foreword.basics.spec import Spec

State = Any
Hold = Callable[[Tensor], Tensor]  # what a layer carries [batch, units] -> the same, some units overwritten


def carried(state: Sequence[State]) -> list[Tensor]:
    """What each layer carries along, [batch, units]: the cell of an LSTM, the one vector that others have."""
    return [layer[-1] if isinstance(layer, tuple) else layer for layer in state]


def held(hold: Hold | None, x: Tensor) -> Tensor:
    return x if hold is None else hold(x)


class RecurrentDropout(Spec):
    """Where dropout falls while training. None of it falls on what goes along time but `weights`."""

    words: Below1 = 0.0  # whole rows of the table: a word is gone wherever it stands (Gal & Ghahramani 2016)
    input: Below1 = 0.0  # on the word vectors
    between: Below1 = 0.0  # on what goes from a layer to the next
    output: Below1 = 0.0  # on the last output
    weights: Below1 = 0.0  # entries of the recurrent matrices, the same at every position (Merity et al. 2018)
    locked: bool = False  # one mask for all positions of a row (variational) instead of one for each

    def on(self, x: Tensor, rate: float, positions: int = 0) -> Tensor:
        """x with its positions along this dimension. Only while training."""
        if not rate:
            return x
        if not self.locked:
            return F.dropout(x, rate)
        return x * F.dropout(torch.ones_like(x.narrow(positions, 0, 1)), rate)


class CellSpec(Spec):
    """The settings of a cell; `layer` makes one layer of it, `build` a stack of them."""

    def vectors(self, width: int) -> int:
        """How wide its word vectors are by default."""
        return width

    def outputs(self, width: int) -> int:
        """How wide what a layer gives is."""
        return width

    def layer(self, inputs: int, width: int) -> nn.Module:
        raise TypeError(f"{type(self).__name__} has no layer.")

    def build(
        self, width: int, inputs: int, layers: int, dropout: RecurrentDropout | None = None, skips: bool = False
    ) -> Stack:
        above = self.outputs(width) + inputs * skips
        made = [self.layer(above if number else inputs, width) for number in range(layers)]
        return Layers(made, dropout or RecurrentDropout(), skips)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        """Settings of the network that this cell cannot follow."""
        return []


class Stack(nn.Module):
    """Layers one above the other. `skips`: each also reads the word vectors (Graves 2013)."""

    residual = False  # layers above the first add to what they read

    def __init__(self, dropout: RecurrentDropout, skips: bool):
        super().__init__()
        self.dropout, self.skips = dropout, skips
        self.between: Any = None  # what stands below each layer but the first; what it says is added
        self.holds: Mapping[int, Hold] = {}  # by layer

    def start(self, batch: int, like: Tensor) -> State:
        """The state before anything is read, one for each layer."""
        raise TypeError(f"{type(self).__name__} has no start.")

    def hold(self, holds: Mapping[int, Hold]) -> None:
        """From now on, overwrite some of what these layers carry, before anything is made of it."""
        self.holds = holds

    def levels(self) -> list[list[nn.Parameter]]:
        raise TypeError(f"{type(self).__name__} does not name its layers.")

    def run(self, number: int, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One layer."""
        raise TypeError(f"{type(self).__name__} runs nothing.")

    def forward(self, x: Tensor, state: State, real: Tensor | None = None) -> tuple[list[Tensor], State]:
        """x [batch, positions, inputs], real [batch, positions] -> the outputs of each layer, the last state."""
        words = x = x.transpose(0, 1)  # positions first, as torch's own dropout between layers has them
        outputs, ends = [], []
        for number, before in enumerate(state):
            if number:
                if self.between is not None:
                    said = self.between[number - 1](x).sigmoid()
                    x = x + (self.dropout.on(said, self.dropout.between) if self.training else said)
                x = self.dropout.on(x, self.dropout.between) if self.training else x
                x = torch.cat([words, x], -1) if self.skips else x
            out, after = self.run(number, x, before) if real is None else self._around_padding(number, x, before, real)
            x = out + x if self.residual and number else out
            outputs.append(x.transpose(0, 1))
            ends.append(after)
        return outputs, tuple(ends)

    def _around_padding(self, number: int, x: Tensor, state: State, real: Tensor) -> tuple[Tensor, State]:
        """Position by position; a padding position leaves the state as it was."""
        outputs = []
        for now, there in zip(x.split(1), real.unbind(1)):
            out, after = self.run(number, now, state)
            state = tree_map(lambda new, old, t=there: torch.where(t[:, None], new, old), after, state)
            outputs.append(out)
        return torch.cat(outputs), state


class Layers(Stack):
    """Modules of one layer each."""

    def __init__(self, layers: list[nn.Module], dropout: RecurrentDropout, skips: bool):
        super().__init__(dropout, skips)
        self.layers: Any = nn.ModuleList(layers)

    def start(self, batch: int, like: Tensor) -> State:
        return tuple(layer.start(batch, like) for layer in self.layers)

    def hold(self, holds: Mapping[int, Hold]) -> None:
        for number, layer in enumerate(self.layers):
            layer.hold = holds.get(number)

    def levels(self) -> list[list[nn.Parameter]]:
        return [list(layer.parameters()) for layer in self.layers]

    def run(self, number: int, x: Tensor, state: State) -> tuple[Tensor, State]:
        return self.layers[number](x, state)


Squash = Literal["sigmoid", "tanh", "relu"]


class SimpleCell(CellSpec):
    """Elman's network as in RNNLM (Mikolov et al. 2010): s(t) = sigmoid(x(t) + U s(t-1)), no biases.

    The table of word vectors is the matrix from word to hidden layer, so the cell holds only U.
    """

    kind: Literal["simple"] = "simple"
    bptt: Size = 1  # how many steps a gradient goes back; the paper went one
    activation: Squash = "sigmoid"

    def layer(self, inputs: int, width: int) -> Simple:
        return Simple(width, self.bptt, self.activation)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        return one_layer("simple", layers) + as_wide("simple", inputs, width)


class Simple(nn.Module):
    hold: Hold | None = None

    def __init__(self, width: int, bptt: int, activation: Squash = "sigmoid"):
        super().__init__()
        self.width, self.bptt, self.act = width, bptt, getattr(torch, activation)
        self.recurrent = nn.Linear(width, width, bias=False)

    def start(self, batch: int, like: Tensor) -> Tensor:
        return like.new_full((batch, self.width), 0.1)  # "small values", section 2 of the paper

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        outputs = []
        for t, now in enumerate(x.unbind(0)):
            if t % self.bptt == 0:
                state = state.detach()
            state = held(self.hold, self.act(now + self.recurrent(state)))
            outputs.append(state)
        return torch.stack(outputs), state


def one_layer(cell: str, layers: int) -> list[tuple[str, str]]:
    return [("layers", f"the {cell} cell has one layer (it says {layers}).")] if layers != 1 else []


def as_wide(cell: str, inputs: int, wanted: int) -> list[tuple[str, str]]:
    what = f"the {cell} cell reads its matrices from the word vectors: embedding {inputs} must equal {wanted}."
    return [("embedding", what)] if inputs != wanted else []
