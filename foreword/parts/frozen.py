"""Weights that only read: a model whose matrices will not change is made for few rows, in float32 or in int8."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

from foreword.basics.messages import Fault, did_you_mean
from foreword.kernels import decode, matvec
from foreword.parts.block import FeedForward, SquaredReLU
from foreword.parts.cells import Hold, Stack, State
from foreword.parts.lstm import Lstm, LstmLayer

Precision = Literal["float32", "int8"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
Kind = TypeVar("Kind", bound=nn.Module)


def check_precision(name: str) -> None:
    if name not in PRECISIONS:
        raise Fault(
            f"there is no precision {name!r}.{did_you_mean(name, PRECISIONS)}", f"Precisions: {', '.join(PRECISIONS)}."
        )


def freeze(model: Kind, precision: str = "float32") -> Kind:
    """A copy of a model that only reads, with the same float32 tensors (not copies of them), quick with few rows.

    "int8": the matrices of linear maps take a quarter of the memory. Tables of vectors, norms and biases stay float32.
    """
    check_precision(precision)
    shared: dict[int, object] = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    made = copy.deepcopy(model, shared)
    for name, part in list(made.named_modules()):
        if isinstance(part, Lstm) and part.lstm is not None:
            above, _, own = name.rpartition(".")
            setattr(made.get_submodule(above), own, FrozenLstm(part, precision))
    for part in list(made.modules()):
        dense = isinstance(part, FeedForward) and isinstance(part.inner, (nn.Linear, FrozenLinear))
        if dense and (name := _activation(part.act)):  # type: ignore[arg-type]
            part.inner, part.act = _frozen(part.inner, precision, name), nn.Identity()  # type: ignore[arg-type]
        for name, child in list(part.named_children()):
            if isinstance(child, (nn.Linear, FrozenLinear)):
                setattr(part, name, _frozen(child, precision, getattr(child, "activation", "")))
            elif isinstance(child, nn.Dropout):
                setattr(part, name, nn.Identity())
    return made.eval()


class FrozenLstm(Lstm):
    """torch's LSTM: as it is for many positions, and for a few one after the other, by linear maps that few rows suit.

    In int8 there are only the maps.
    """

    FEW = 8  # positions

    def __init__(self, lstm: Lstm, precision: str):
        Stack.__init__(self, lstm.dropout, lstm.skips)
        self.width, self.outputs, self.forget_bias = lstm.width, lstm.outputs, lstm.forget_bias
        self.residual, self.between, self.number = lstm.residual, lstm.between, lstm.lstm.num_layers
        made = [_layer(lstm, number, precision) for number in range(self.number)]
        coarse = precision == "int8"
        self.lstm: Any = None if coarse else lstm.lstm
        self.layers: Any = nn.ModuleList(made) if coarse else tuple(made)  # a tuple: the same tensors, named once

    def start(self, batch: int, like: Tensor) -> State:
        return tuple(layer.start(batch, like) for layer in self.layers)

    def hold(self, holds: Mapping[int, Hold]) -> None:
        super().hold(holds)
        for number, layer in enumerate(self.layers):
            layer.hold = holds.get(number)

    def run(self, number: int, x: Tensor, state: State) -> tuple[Tensor, State]:
        if len(x) > self.FEW and self.lstm is not None:
            return super().run(number, x, state)
        return self.layers[number](x, state)

    def levels(self) -> list[list[nn.Parameter]]:
        return [list(layer.parameters()) for layer in self.layers] if self.lstm is None else super().levels()


def _layer(lstm: Lstm, number: int, precision: str) -> LstmLayer:
    """One layer with the same matrices, ready for few rows; its two biases are added up."""
    weights = [getattr(lstm.lstm, name) for name in lstm.lstm._all_weights[number]]
    with torch.device("meta"):
        made = LstmLayer(weights[0].size(1), lstm.width, lstm.lstm.proj_size or None)
    made.inputs.weight, made.recurrent.weight = weights[0], weights[1]
    made.inputs.bias = nn.Parameter((weights[2] + weights[3]).detach())
    if made.project is not None:
        made.project.weight = weights[4]
    for name, part in list(made.named_children()):
        setattr(made, name, _frozen(part, precision))  # type: ignore[arg-type]
    return made


def _frozen(linear: nn.Linear | FrozenLinear, precision: str, activation: str = "") -> FrozenLinear | QuantizedLinear:
    return (QuantizedLinear if precision == "int8" else FrozenLinear)(linear, activation)


def _activation(module: nn.Module) -> str:
    if isinstance(module, nn.GELU):
        return "gelu_tanh" if module.approximate == "tanh" else "gelu_erf"
    return {nn.ReLU: "relu", SquaredReLU: "relu_squared"}.get(type(module), "")


class FrozenLinear(nn.Module):
    """A linear map and the activation after it, with the tensors of an nn.Linear."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, linear: nn.Linear | FrozenLinear, activation: str = ""):
        super().__init__()
        self.weight, self.bias, self.activation = linear.weight, linear.bias, activation

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]"""
        return _mapped(x, self.weight, self.bias, None, self.activation)


class QuantizedLinear(nn.Module):
    """The same with weights in 255 steps between the least and the largest of each output."""

    numbers: Tensor  # [outputs, inputs] int8
    scale: Tensor  # [2, outputs]: the size of a step, and what the number 0 stands for

    def __init__(self, linear: nn.Linear | FrozenLinear, activation: str = ""):
        super().__init__()
        numbers, scale = quantized(linear.weight.detach())
        self.register_buffer("numbers", numbers)
        self.register_buffer("scale", scale)
        self.bias, self.activation = linear.bias, activation

    @property
    def weight(self) -> Tensor:
        """What the numbers stand for, in float32."""
        step, middle = self.scale[:, :, None]
        return self.numbers * step + middle

    def forward(self, x: Tensor) -> Tensor:
        return _mapped(x, self.numbers, self.bias, self.scale, self.activation)


def _mapped(x: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None, activation: str) -> Tensor:
    rows = x.reshape(-1, x.size(-1))
    few = rows.size(0) <= decode.ROWS and not torch.is_grad_enabled()  # the kernel gives no gradients
    made = (matvec.linear if few else matvec.in_torch)(rows, weight, bias, scale, activation)
    return made.view(*x.shape[:-1], weight.size(0))


def quantized(weight: Tensor) -> tuple[Tensor, Tensor]:
    """weight [outputs, inputs] -> int8 numbers, and the step and the middle of each output: within half a step of it."""
    least, largest = weight.amin(1), weight.amax(1)
    step = (largest - least).div_(255)
    step = torch.where(step > 0, step, least.abs() / 128)  # all weights the same
    step[step == 0] = 1.0  # all zero
    middle = least + 128 * step
    numbers, scale = torch.empty_like(weight, dtype=torch.int8), torch.stack([step, middle])
    pieces = (parts.split(4096) for parts in (weight, numbers, step, middle))  # little memory at a time
    for some, out, size, zero in zip(*pieces):
        out.copy_(((some - zero[:, None]) / size[:, None]).round_().clamp_(-128, 127))
    return numbers, scale


def left_in_float32(model: nn.Module) -> list[str]:
    """Parts of a model in int8 whose matrices, other than tables that are only looked up, are still float32."""
    return [
        name
        for name, part in model.named_modules()
        if not isinstance(part, nn.Embedding) and any(weight.dim() > 1 for weight in part.parameters(recurse=False))
    ]
