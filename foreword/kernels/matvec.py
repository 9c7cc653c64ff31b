"""Linear maps of few rows: decoding reads every weight for one token, and torch reads at half the memory's speed (matvec.h)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.kernels import decode
from foreword.kernels.decode import ACTIVATIONS
from foreword.kernels.tensors import address, served


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    activation: str = "",
    residual: Tensor | None = None,
) -> Tensor:
    """x [rows, inputs], weight [outputs, inputs] -> residual + activation(x weight' + bias) [rows, outputs].

    A weight of int8 stands for itself times `scale[0]`, plus `scale[1]`, of its output.
    """
    kernels = decode.library() if served(x) and weight.is_contiguous() else None
    if kernels is None:
        return in_torch(x, weight, bias, scale, activation, residual)
    x, (outputs, inputs) = x.contiguous(), weight.shape
    if x.size(1) != inputs or weight.dtype is not (torch.float32 if scale is None else torch.int8):
        raise ValueError(f"x {list(x.shape)} does not fit a weight {list(weight.shape)} of {weight.dtype}")
    residual = None if residual is None else residual.contiguous()
    out = torch.empty(x.size(0), outputs)
    failed = kernels.linear(
        address(x),
        address(weight),
        address(bias),
        address(scale),
        address(residual),
        address(out),
        x.size(0),
        inputs,
        outputs,
        ACTIVATIONS[activation],
        torch.get_num_threads(),
    )
    return in_torch(x, weight, bias, scale, activation, residual) if failed else out


def in_torch(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    activation: str = "",
    residual: Tensor | None = None,
) -> Tensor:
    """`linear` for any number of rows, on any device."""
    out = F.linear(x, weight, bias) if scale is None else by_pieces(x, weight, bias, scale)
    if activation:
        out = {
            "relu": F.relu,
            "relu_squared": lambda y: F.relu(y).square(),
            "gelu_erf": F.gelu,
            "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
        }[activation](out)
    return out if residual is None else residual + out


def by_pieces(x: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor, outputs: int = 4096) -> Tensor:
    """A product with weights of int8, some outputs at a time: all of the weights never exist in float32 together."""
    out = x.new_empty(*x.shape[:-1], weight.size(0))
    for start in range(0, weight.size(0), outputs):
        stop = start + outputs
        step, middle = scale[:, start:stop, None]
        some = weight[start:stop].to(x.dtype).mul_(step).add_(middle)
        out[..., start:stop] = F.linear(x, some, None if bias is None else bias[start:stop])
    return out
