"""Products with few rows, in C: generation reads every weight for one token, and torch reads at half the memory's speed.

The source beside this file is compiled at first use, for the processor it runs on, and kept in the user's cache folder.
Where there is no compiler, torch answers, with the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import torch  # before any compiled product: both then share one set of threads
import torch.nn.functional as F
from torch import Tensor

from foreword.kernels import build

ROWS = 32             # with more, the arithmetic takes longer than the reading, and torch's products are the better ones
ACTIVATIONS = {"": 0, "relu": 1, "relu_squared": 2, "gelu_tanh": 3, "gelu_erf": 4}
SOURCE = Path(__file__).with_name("decode.c")


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, scale: Tensor | None = None, activation: str = "",
            residual: Tensor | None = None, library: Any = None) -> Tensor:
    """x [rows, inputs], weight [outputs, inputs] -> residual + activation(x weight' + bias) [rows, outputs].

    A weight of int8 stands for itself times `scale[0]`, plus `scale[1]`, of its output.
    """
    library = library or (compiled() if fits(x) and weight.is_contiguous() else None)
    if library is None:
        return in_torch(x, weight, bias, scale, activation, residual)
    x, (outputs, inputs) = x.contiguous(), weight.shape
    if x.size(1) != inputs or weight.dtype is not (torch.float32 if scale is None else torch.int8):
        raise ValueError(f"x {list(x.shape)} does not fit a weight {list(weight.shape)} of {weight.dtype}")
    residual = None if residual is None else residual.contiguous()
    out = torch.empty(x.size(0), outputs)
    library.product(x.data_ptr(), weight.data_ptr(), _place(bias), _place(scale), _place(residual), out.data_ptr(),
                    x.size(0), inputs, outputs, ACTIVATIONS[activation], torch.get_num_threads())
    return out


def attend(queries: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, window: int = 0, library: Any = None) -> Tensor:
    """queries [rows, heads, 1, size] look at keys and values [rows, heads, room, size], each row at its first `lengths`.

    With a `window`, at the last so many of those.
    """
    library = library or (compiled() if fits(queries) and keys.is_contiguous() and values.is_contiguous() else None)
    if library is None:
        return _attend(queries, keys, values, lengths, window)
    rows, heads, room, size = keys.shape
    queries = _by_row(queries)
    out = torch.empty(rows, heads, 1, size)
    library.attend(queries.data_ptr(), queries.stride(0), keys.data_ptr(), values.data_ptr(), lengths.data_ptr(), window,
                   out.data_ptr(), rows, heads, room, size, torch.get_num_threads())
    return out


def keep(keys: Tensor, values: Tensor, kept_keys: Tensor, kept_values: Tensor, lengths: Tensor, library: Any = None) -> None:
    """keys, values [rows, heads, 1, size] take the place after the first `lengths` of [rows, heads, room, size]."""
    library = library or (compiled() if fits(keys) and kept_keys.is_contiguous() and kept_values.is_contiguous() else None)
    if library is None:
        every = torch.arange(len(lengths), device=lengths.device)
        kept_keys[every, :, lengths], kept_values[every, :, lengths] = keys[:, :, 0], values[:, :, 0]
        return
    rows, heads, room, size = kept_keys.shape
    keys, values = _by_row(keys), _by_row(values)
    library.keep(keys.data_ptr(), keys.stride(0), values.data_ptr(), values.stride(0), lengths.data_ptr(),
                 kept_keys.data_ptr(), kept_values.data_ptr(), rows, heads, room, size)


def fits(x: Tensor) -> bool:
    return x.dtype is torch.float32 and x.device.type == "cpu"


def _place(x: Tensor | None) -> int:
    return 0 if x is None else x.data_ptr()


def _by_row(x: Tensor) -> Tensor:
    """[rows, heads, 1, size] with the heads of a row one behind the other."""
    size = x.size(3)
    return x if x.stride(3) == 1 and x.stride(1) == size else x.contiguous()


# the same in torch

def in_torch(x: Tensor, weight: Tensor, bias: Tensor | None = None, scale: Tensor | None = None, activation: str = "",
             residual: Tensor | None = None) -> Tensor:
    """`product` for any number of rows, on any device."""
    out = F.linear(x, weight, bias) if scale is None else by_pieces(x, weight, bias, scale)
    if activation:
        out = {"relu": F.relu, "relu_squared": lambda y: F.relu(y).square(), "gelu_erf": F.gelu,
               "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}[activation](out)
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


def _attend(queries: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, window: int = 0) -> Tensor:
    shortest, longest = int(lengths.min()), int(lengths.max())
    first = max(0, shortest - window) if window else 0        # what lies before it no row sees
    seen = None
    if shortest < longest:
        behind = lengths[:, None] - torch.arange(first, longest, device=lengths.device)        # 1 for the newest
        seen = ((behind > 0) & (behind <= (window or longest)))[:, None, None]
    return F.scaled_dot_product_attention(queries, keys[:, :, first:longest], values[:, :, first:longest], attn_mask=seen)


# compiling

@functools.cache
def compiled() -> Any:
    """The library for this machine, or None where it cannot be made: said once."""
    found = build.compiled(SOURCE, "generation uses torch's products, at about half the speed")
    return None if found is None else typed(found)


def typed(library: Any) -> Any:
    place, number = ctypes.c_void_p, ctypes.c_long
    library.product.argtypes = [place] * 6 + [number] * 5
    library.attend.argtypes = [place, number, *[place] * 3, number, place, *[number] * 5]
    library.keep.argtypes = [place, number, place, number, *[place] * 3, *[number] * 4]
    library.run.argtypes = [place, number, number, *[place] * 3, number, number]
    for function in (library.product, library.attend, library.keep, library.run):
        function.restype = None
    return library
