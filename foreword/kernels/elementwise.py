"""GELU, squared ReLU, RMS norm, rotary positions and dropout in one pass over memory each, forward and back (elementwise.c).

Torch takes several passes on a CPU, and small models spend a quarter of their time there. Where the kernels do not serve
(another device or precision, no compiler, FOREWORD_KERNELS=off) torch answers; dropout drops the same numbers either way.
Each kernel is an operator of torch's, so that autograd and torch.compile take it as a whole.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.library import CustomOpDef, custom_op

from foreword.kernels import build
from foreword.kernels.tensors import address, constant, served

SOURCE = Path(__file__).with_name("elementwise.c")
SIGNATURES = {
    "gelu": "pppll",
    "relu_squared": "pppll",
    "rms_norm": "pppllfl",
    "rotary": "pppplllllllfl",
    "dropout": "pplqfl",
}
PIECE = 2**16  # numbers at a time where numpy drops them: what a core's cache holds


def gelu_tanh(x: Tensor) -> Tensor:
    """x times about the share of a normal distribution below x (Hendrycks and Gimpel 2016)."""
    return _activation(x, None, "gelu") if fits(x) else F.gelu(x, approximate="tanh")


def relu_squared(x: Tensor) -> Tensor:
    """max(x, 0) squared (So et al. 2021)."""
    return _activation(x, None, "relu_squared") if fits(x) else F.relu(x).square()


def rms_norm(x: Tensor, epsilon: float) -> Tensor:
    """x over the root of the mean of its squares, along the last dimension (Zhang and Sennrich 2019)."""
    return _rms_norm(x, None, epsilon) if fits(x) else F.rms_norm(x, (x.size(-1),), eps=epsilon)


def rotary(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """x [batch, heads, places, size]: its first half is paired with its second, and each pair rotated (Su et al. 2021)."""
    if fits(x) and cosine.dim() == 2 and x.stride(-1) == 1:
        return _rotary(x, cosine, sine, 1.0)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosine + b * sine, b * cosine - a * sine), -1)


def dropout(x: Tensor, share: float) -> Tensor:
    """x with so large a share of its numbers zero and the others so much larger (Srivastava et al. 2014)."""
    if not served(x) or not 0 < share < 1:
        return F.dropout(x, share)
    return dropout_from(x, torch.randint(2**62, (1,)), share)


class Dropout(nn.Dropout):
    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p else x


def fits(x: Tensor) -> bool:
    return served(x) and usable()


@constant
def usable() -> bool:
    return library() is not None


@functools.cache
def library() -> ctypes.CDLL | None:
    return build.library(
        SOURCE, SIGNATURES, "training uses torch's own loops, and a small model learns up to a quarter slower"
    )


def as_projected(x: Tensor, size: int | None = None) -> Tensor:
    """Room for x [batch, heads, places, size] with the heads of a place together: gradients then need no copy on their way."""
    batch, heads, places, own = x.shape
    return x.new_empty(batch, places, heads, own if size is None else size).transpose(1, 2)


# the operators; with an upstream gradient, the first two give what is passed back


@custom_op("foreword::activation", mutates_args=())
def _activation(x: Tensor, upstream: Tensor | None, name: str) -> Tensor:
    x, upstream = x.contiguous(), None if upstream is None else upstream.contiguous()
    out = torch.empty_like(x)
    getattr(_kernels(), name)(address(x), address(upstream), address(out), x.numel(), torch.get_num_threads())
    return out


@custom_op("foreword::rms_norm", mutates_args=())
def _rms_norm(x: Tensor, upstream: Tensor | None, epsilon: float) -> Tensor:
    x = _dense(x)
    out, width = torch.empty_like(x), x.size(-1)
    if upstream is not None and upstream.stride() != out.stride():
        upstream = torch.empty_like(out).copy_(upstream)
    _kernels().rms_norm(
        address(x), address(upstream), address(out), x.numel() // width, width, epsilon, torch.get_num_threads()
    )
    return out


@custom_op("foreword::rotary", mutates_args=())
def _rotary(x: Tensor, cosine: Tensor, sine: Tensor, sign: float) -> Tensor:
    x, cosine, sine = x if x.stride(-1) == 1 else x.contiguous(), cosine.contiguous(), sine.contiguous()
    batch, heads, places, size = x.shape
    out = as_projected(x)
    _kernels().rotary(
        address(x),
        address(cosine),
        address(sine),
        address(out),
        batch,
        places,
        heads,
        size,
        x.stride(0),
        x.stride(2),
        x.stride(1),
        sign,
        torch.get_num_threads(),
    )
    return out


@custom_op("foreword::dropout", mutates_args=())
def dropout_from(x: Tensor, seed: Tensor, share: float) -> Tensor:
    """Which numbers are dropped follows from the seed and their places: no mask is kept, and the way back drops the same."""
    x, kernels = x.contiguous(), library()
    out = torch.empty_like(x)
    if kernels is None:
        _dropout_in_numpy(x.numpy().reshape(-1), out.numpy().reshape(-1), int(seed), np.float32(1.0 - share))
    else:
        kernels.dropout(address(x), address(out), x.numel(), int(seed), 1.0 - share, torch.get_num_threads())
    return out


def _dropout_in_numpy(x: np.ndarray, out: np.ndarray, seed: int, keep: np.float32) -> None:
    """The definition: a number stays, times 1 / keep, if its place's bits, half of them, are below `keep` x 2^31."""
    least = min(int(float(keep) * 2**31), 2**31 - 1)
    for start in range(0, len(x), PIECE):
        some = slice(start, start + PIECE)
        bits = np.arange(start, start + len(x[some]), dtype=np.uint64).astype(np.uint32)
        bits = bits * np.uint32(0x9E3779B9) + np.uint32(seed & 0xFFFFFFFF)  # MurmurHash3's last steps: dropout.h
        bits = (bits ^ bits >> np.uint32(16)) * np.uint32(0x85EBCA6B)
        bits = ((bits ^ bits >> np.uint32(13)) + np.uint32(seed >> 32)) * np.uint32(0xC2B2AE35)
        stays = (bits ^ bits >> np.uint32(16)) >> np.uint32(1) < least
        with np.errstate(invalid="ignore"):  # infinity times zero, as in C
            np.multiply(x[some], stays * (np.float32(1) / keep), out=out[some])


def _kernels() -> ctypes.CDLL:
    """Asked for where `fits` has said that they are there."""
    found = library()
    assert found is not None
    return found


def _dense(x: Tensor) -> Tensor:
    """Without gaps, each row whole; in which order rows lie does not matter."""
    whole = x.is_contiguous() or (x.dim() == 4 and x.transpose(1, 2).is_contiguous())
    return x if whole else x.contiguous()


def _given_upstream(operator: CustomOpDef, room: Callable[[Tensor], Tensor]) -> None:
    """operator(x, upstream, setting): its gradient is the same with what comes from above. `room`: the result, not filled."""

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.setting = inputs[2]

    operator.register_fake(lambda x, *rest: room(x))
    operator.register_autograd(
        lambda ctx, upstream: (operator(*ctx.saved_tensors, upstream, ctx.setting), None, None), setup_context=keep
    )


def _linear(operator: CustomOpDef, room: Callable[[Tensor], Tensor], sign: float) -> None:
    """operator(x, tensors ..., setting), linear in x: its gradient is the same of the upstream, with `sign` x setting."""

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:-1])
        ctx.setting = inputs[-1]

    def passed(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # asked for once: blocks that are computed again give them once
        return operator(upstream, *saved, sign * ctx.setting), *[None] * (len(saved) + 1)

    operator.register_fake(lambda x, *rest: room(x))
    operator.register_autograd(passed, setup_context=keep)


def _like(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


_given_upstream(_activation, _like)
_given_upstream(_rms_norm, lambda x: torch.empty_like(_dense(x)))
_linear(_rotary, as_projected, -1.0)
_linear(dropout_from, _like, 1.0)
