"""GELU with tanh in one pass each way: on a processor torch takes four times as long, which small models feel.

Its C source is compiled at first use. Where that cannot be, or off the CPU, or in another precision, torch answers.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import torch  # before any compiled loop: both then share one set of threads
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics import kernels

SOURCE = Path(__file__).with_name("gelu.c")


class GeluTanh(nn.GELU):
    """x times about the share of a normal distribution below x (Hendrycks and Gimpel 2016)."""

    def __init__(self) -> None:
        super().__init__(approximate="tanh")

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype is torch.float32 and x.device.type == "cpu" and usable():
            return gelu(x)
        return F.gelu(x, approximate=self.approximate)


@torch.compiler.assume_constant_result        # torch.compile asks once, and looks no further
def usable() -> bool:
    return library() is not None


@functools.cache
def library() -> Any:
    """The compiled loops, or None where they cannot be made: said once."""
    found = kernels.compiled(SOURCE, "GELU is torch's, and a training step some percent slower")
    if found is not None:
        found.gelu.argtypes, found.gelu.restype = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2, None
    return found


@torch.library.custom_op("foreword::gelu", mutates_args=())        # an operator, so that torch.compile leaves it whole
def gelu(x: Tensor) -> Tensor:
    return _run(x.contiguous(), None)


@torch.library.custom_op("foreword::gelu_back", mutates_args=())
def gelu_back(upstream: Tensor, x: Tensor) -> Tensor:
    return _run(x.contiguous(), upstream.contiguous())


def _run(x: Tensor, upstream: Tensor | None) -> Tensor:
    out = torch.empty_like(x)
    library().gelu(x.data_ptr(), 0 if upstream is None else upstream.data_ptr(), out.data_ptr(), x.numel(),
                   torch.get_num_threads())
    return out


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _back(ctx: Any, upstream: Tensor) -> Tensor:
    return gelu_back(upstream, *ctx.saved_tensors)


gelu.register_fake(lambda x: torch.empty_like(x, memory_format=torch.contiguous_format))
gelu_back.register_fake(lambda upstream, x: torch.empty_like(x, memory_format=torch.contiguous_format))
gelu.register_autograd(_back, setup_context=_keep)
