"""GELU, squared ReLU, RMS norm, rotary positions and dropout in one pass over memory each, forward and back (elementwise.c).

Torch takes several passes on a CPU, and small models spend a quarter of their time there. Where the kernels do not serve
(another device or precision, no compiler, FOREWORD_KERNELS=off) torch answers; dropout drops the same numbers either way.
Each kernel is an operator of torch's, so that autograd and torch.compile take it as a whole.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.kernels import build
from foreword.kernels.tensors import address, constant, served

SOURCE = Path(__file__).with_name("elementwise.c")
SIGNATURES = {"gelu": "pppll", "relu_squared": "pppll", "rms_norm": "pppllfl", "rotary": "pppplllllllfl",
              "dropout": "pplqfl"}
PIECE = 2**16        # numbers at a time where numpy drops them: what a core's cache holds


def gelu_tanh(x: Tensor) -> Tensor:
    """x times about the share of a normal distribution below x (Hendrycks and Gimpel 2016)."""
    return torch.ops.foreword.gelu(x) if fits(x) else F.gelu(x, approximate="tanh")


def relu_squared(x: Tensor) -> Tensor:
    """max(x, 0) squared (So et al. 2021)."""
    return torch.ops.foreword.relu_squared(x) if fits(x) else F.relu(x).square()


def rms_norm(x: Tensor, epsilon: float) -> Tensor:
    """x over the root of the mean of its squares, along the last dimension (Zhang and Sennrich 2019)."""
    return torch.ops.foreword.rms_norm(x, epsilon) if fits(x) else F.rms_norm(x, (x.size(-1),), eps=epsilon)


def rotary(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """x [batch, heads, places, size]: its first half is paired with its second, and each pair rotated (Su et al. 2021)."""
    if fits(x) and cosine.dim() == 2 and x.stride(-1) == 1:
        return torch.ops.foreword.rotary(x, cosine, sine)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosine + b * sine, b * cosine - a * sine), -1)


def dropout(x: Tensor, share: float) -> Tensor:
    """x with so large a share of its numbers zero and the others so much larger (Srivastava et al. 2014)."""
    if not served(x) or not 0 < share < 1:
        return F.dropout(x, share)
    return torch.ops.foreword.dropout(x, torch.randint(2**62, (1,)), share)


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
    return build.library(SOURCE, SIGNATURES,
                         "training uses torch's own loops, and a small model learns up to a quarter slower")


def _kernels() -> ctypes.CDLL:
    """Asked for where `fits` has said that they are there."""
    found = library()
    assert found is not None
    return found


# each number by itself

def _each(name: str) -> None:
    def run(x: Tensor, upstream: Tensor | None) -> Tensor:
        out = torch.empty_like(x)
        getattr(_kernels(), name)(address(x), address(upstream), address(out), x.numel(), torch.get_num_threads())
        return out

    def forth(x: Tensor) -> Tensor:
        return run(x.contiguous(), None)

    def back(upstream: Tensor, x: Tensor) -> Tensor:
        return run(x.contiguous(), upstream.contiguous())

    def passed(ctx: Any, upstream: Tensor) -> Tensor:
        return getattr(torch.ops.foreword, f"{name}_back")(upstream, *ctx.saved_tensors)

    _operator(name, forth, back, lambda x: torch.empty_like(x, memory_format=torch.contiguous_format),
              lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]), passed)


# dropout: which numbers are dropped follows from the seed, so that no mask is kept

def _dropout(x: Tensor, seed: Tensor, share: float) -> Tensor:
    x = x.contiguous()
    out, kernels = torch.empty_like(x), library()
    if kernels is None:
        dropout_in_numpy(x.numpy().reshape(-1), out.numpy().reshape(-1), int(seed), np.float32(1.0 - share))
    else:
        kernels.dropout(address(x), address(out), x.numel(), int(seed), 1.0 - share, torch.get_num_threads())
    return out


def dropout_in_numpy(x: np.ndarray, out: np.ndarray, seed: int, keep: np.float32) -> None:
    """The definition: a number stays, times 1 / keep, if its place's bits, half of them, are below `keep` x 2^31."""
    least = min(int(float(keep) * 2**31), 2**31 - 1)
    for start in range(0, len(x), PIECE):
        some = slice(start, start + PIECE)
        bits = np.arange(start, start + len(x[some]), dtype=np.uint64).astype(np.uint32)
        bits = bits * np.uint32(0x9E3779B9) + np.uint32(seed & 0xFFFFFFFF)        # MurmurHash3's last steps: dropout.h
        bits = (bits ^ bits >> np.uint32(16)) * np.uint32(0x85EBCA6B)
        bits = ((bits ^ bits >> np.uint32(13)) + np.uint32(seed >> 32)) * np.uint32(0xC2B2AE35)
        stays = (bits ^ bits >> np.uint32(16)) >> np.uint32(1) < least
        with np.errstate(invalid="ignore"):        # infinity times zero, as in C
            np.multiply(x[some], stays * (np.float32(1) / keep), out=out[some])


def _dropout_back(upstream: Tensor, seed: Tensor, share: float) -> Tensor:
    return _dropout(upstream, seed, share)


def _dropout_keep(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
    _, seed, ctx.share = inputs
    ctx.save_for_backward(seed)


def _dropout_passed(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
    return torch.ops.foreword.dropout_back(upstream, *ctx.saved_tensors, ctx.share), None, None


# each row by itself

def _rms_norm(x: Tensor, upstream: Tensor | None, epsilon: float) -> Tensor:
    out = torch.empty_like(x)
    if upstream is not None and upstream.stride() != out.stride():
        upstream = torch.empty_like(out).copy_(upstream)
    width = x.size(-1)
    _kernels().rms_norm(address(x), address(upstream), address(out), x.numel() // width, width, epsilon,
                        torch.get_num_threads())
    return out


def _rms_norm_forth(x: Tensor, epsilon: float) -> Tensor:
    return _rms_norm(_dense(x), None, epsilon)


def _rms_norm_back(upstream: Tensor, x: Tensor, epsilon: float) -> Tensor:
    return _rms_norm(_dense(x), upstream, epsilon)


def _rms_norm_keep(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
    x, ctx.epsilon = inputs
    ctx.save_for_backward(x)


def _rms_norm_passed(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
    return torch.ops.foreword.rms_norm_back(upstream, *ctx.saved_tensors, ctx.epsilon), None


def _dense(x: Tensor) -> Tensor:
    """Without gaps, each row whole; in which order rows lie does not matter."""
    whole = x.is_contiguous() or (x.dim() == 4 and x.transpose(1, 2).is_contiguous())
    return x if whole else x.contiguous()


# rotary

def _rotary(x: Tensor, cosine: Tensor, sine: Tensor, sign: float) -> Tensor:
    x, cosine, sine = x if x.stride(-1) == 1 else x.contiguous(), cosine.contiguous(), sine.contiguous()
    batch, heads, places, size = x.shape
    out = as_projected(x)
    _kernels().rotary(address(x), address(cosine), address(sine), address(out), batch, places, heads, size,
                      x.stride(0), x.stride(2), x.stride(1), sign, torch.get_num_threads())
    return out


def as_projected(x: Tensor, size: int | None = None) -> Tensor:
    """Room for x [batch, heads, places, size] with the heads of a place together: so gradients need no copy on their way."""
    batch, heads, places, own = x.shape
    return x.new_empty(batch, places, heads, own if size is None else size).transpose(1, 2)


def _rotary_forth(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    return _rotary(x, cosine, sine, 1.0)


def _rotary_back(upstream: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    return _rotary(upstream, cosine, sine, -1.0)


def _rotary_passed(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
    return torch.ops.foreword.rotary_back(upstream, *ctx.saved_tensors), None, None


def _operator(name: str, forth: Any, back: Any, room: Any, keep: Any, passed: Any, like: int = 1) -> None:
    """Make `foreword::NAME` and `foreword::NAME_back` known to torch.

    `room` is what they give, laid out but not filled, from the first argument; on the way back from that numbered `like`.
    """
    one = torch.library.custom_op(f"foreword::{name}", forth, mutates_args=())
    other = torch.library.custom_op(f"foreword::{name}_back", back, mutates_args=())
    one.register_fake(lambda x, *rest: room(x))
    other.register_fake(lambda *given: room(given[like]))
    one.register_autograd(passed, setup_context=keep)


_each("gelu")
_each("relu_squared")
_operator("dropout", _dropout, _dropout_back, lambda x: torch.empty_like(x, memory_format=torch.contiguous_format), _dropout_keep,
          _dropout_passed, like=0)
_operator("rms_norm", _rms_norm_forth, _rms_norm_back, lambda x: torch.empty_like(_dense(x)), _rms_norm_keep, _rms_norm_passed)
_operator("rotary", _rotary_forth, _rotary_back, as_projected,
          lambda ctx, inputs, output: ctx.save_for_backward(*inputs[1:]), _rotary_passed, like=0)
