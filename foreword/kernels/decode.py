"""Decoding, one token per row: attention over a cache, and all the layers of a network in one call (decode.c).

For a small model the way from one layer to the next takes Python longer than the layer takes the processor.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.basics.messages import RunFailed
from foreword.kernels import build
from foreword.kernels.tensors import address, served

ROWS = 32  # with more, the arithmetic takes longer than the reading, and torch's products are the better ones
SOURCE = Path(__file__).with_name("decode.c")
SIGNATURES = {"linear": "pppppplllll>i", "attend": "plppplplllll>i", "run": "pllpppll>i"}
ACTIVATIONS = {"": 0, "relu": 1, "relu_squared": 2, "gelu_tanh": 3, "gelu_erf": 4}  # as matvec.h numbers them
EMBED, LAYER_NORM, RMS_NORM, ROTARY, LINEAR, ATTENTION = range(6)  # as decode.c numbers them


@functools.cache
def library() -> ctypes.CDLL | None:
    return build.library(SOURCE, SIGNATURES, "generation uses torch's products, at about half the speed")


def attend(queries: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, window: int = 0) -> Tensor:
    """queries [rows, heads, 1, size] look at keys and values [rows, heads, room, size], each row at its first `lengths`.

    With a `window`, at the last so many of those.
    """
    kernels = library() if served(queries) and keys.is_contiguous() and values.is_contiguous() else None
    if kernels is None:
        return attend_in_torch(queries, keys, values, lengths, window)
    rows, heads, room, size = keys.shape
    if queries.stride(3) != 1 or queries.stride(1) != size:  # the heads of a row one behind the other
        queries = queries.contiguous()
    out = torch.empty(rows, heads, 1, size)
    failed = kernels.attend(
        address(queries),
        queries.stride(0),
        address(keys),
        address(values),
        address(lengths),
        window,
        address(out),
        rows,
        heads,
        room,
        size,
        torch.get_num_threads(),
    )
    return attend_in_torch(queries, keys, values, lengths, window) if failed else out


def attend_in_torch(queries: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, window: int = 0) -> Tensor:
    """`attend` for any number of rows, on any device."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    first = max(0, shortest - window) if window else 0  # what lies before it no row sees
    seen = None
    if shortest < longest:
        behind = lengths[:, None] - torch.arange(first, longest, device=lengths.device)  # 1 for the newest
        seen = ((behind > 0) & (behind <= (window or longest)))[:, None, None]
    return F.scaled_dot_product_attention(
        queries, keys[:, :, first:longest], values[:, :, first:longest], attn_mask=seen
    )


# programs


class Instruction(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("source", "target", "first", "second", "third", "residual")),
        *((name, ctypes.c_int64) for name in ("a", "b", "c", "d")),
        ("epsilon", ctypes.c_double),
    ]


class NotCompiled(Exception):
    """There is no step for this."""


class Program:
    """The steps from ids to vectors for up to ROWS rows, one token each; all tensors are float32 on the CPU, or int8 weights."""

    def __init__(self, vocabulary: int):
        self.vocabulary = vocabulary
        self.steps: list[Instruction] = []
        self.held: list[Tensor] = []  # tensors whose addresses the steps know
        self.buffers: dict[str, Tensor] = {}
        self.result = torch.empty(0)  # the buffer of the last step

    def buffer(self, name: str, width: int) -> Tensor:
        """The same for all layers, which use it one after the other."""
        found = self.buffers.setdefault(name, torch.empty(ROWS, width))
        if found.size(1) != width:
            raise NotCompiled(f"layers of {found.size(1)} and {width}")
        return found

    def embed(self, tokens: Tensor, positions: Tensor | None, target: Tensor) -> None:
        self._step(EMBED, [None, target, tokens, positions], tokens.size(1))

    def norm(
        self,
        kind: int,
        affine: tuple[Tensor | None, Tensor | None],
        epsilon: float,
        source: Tensor,
        target: Tensor,
        size: int,
        groups: int = 1,
    ) -> None:
        """`groups` of `size` numbers in each row, each normed by itself, with the gain and bias of `affine`."""
        self._step(kind, [source, target, *affine], size, groups, source.size(1), target.size(1), epsilon)

    def rotary(self, x: Tensor, cosine: Tensor, sine: Tensor, size: int, groups: int) -> None:
        """The first `groups` heads of each row, in place; cosine, sine [positions, size / 2]."""
        self._step(ROTARY, [x, x, cosine, sine], size, groups, x.size(1))

    def linear(
        self,
        weight: Tensor,
        bias: Tensor | None,
        scale: Tensor | None,
        activation: str,
        source: Tensor,
        target: Tensor,
        residual: Tensor | None = None,
    ) -> None:
        self._step(
            LINEAR,
            [source, target, weight, bias, scale, residual],
            weight.size(1),
            weight.size(0),
            ACTIVATIONS[activation],
        )

    def attention(self, source: Tensor, target: Tensor, heads: int, size: int, layer: int, window: int = 0) -> None:
        """source: queries, keys and values of each row, one behind the other."""
        self._step(ATTENTION, [source, target], heads, size, layer, window)

    def _step(
        self,
        kind: int,
        tensors: list[Tensor | None],
        a: int = 0,
        b: int = 0,
        c: int = 0,
        d: int = 0,
        epsilon: float = 0.0,
    ) -> None:
        for tensor in tensors:
            if tensor is None:
                continue
            if (
                tensor.dtype not in (torch.float32, torch.int8)
                or tensor.device.type != "cpu"
                or not tensor.is_contiguous()
            ):
                raise NotCompiled(f"{tensor.dtype} on {tensor.device}")
            self.held.append(tensor)
        places = [address(tensor) for tensor in (*tensors, *[None] * (6 - len(tensors)))]
        self.steps.append(Instruction(kind, *places, a, b, c, d, epsilon))

    def run(self, ids: np.ndarray, lengths: np.ndarray, cache: Tensor) -> Tensor:
        """ids [rows] at positions `lengths` -> vectors [rows, width], which the next run overwrites.

        cache [layers, 2, rows, heads, room, size] holds the keys and values of each row; the new token's are added.
        """
        ids, lengths = (np.ascontiguousarray(numbers, np.int64) for numbers in (ids, lengths))
        if ids.view(np.uint64).max() >= self.vocabulary or not cache.is_contiguous():  # C would read beyond its tables
            raise IndexError(
                f"token {ids.max()} or {ids.min()} is not one of {self.vocabulary}, or the cache is not in order"
            )
        if self.kernels.run(
            self.code,
            len(self.code),
            len(ids),
            ids.ctypes.data,
            lengths.ctypes.data,
            address(cache),
            cache.size(4),
            torch.get_num_threads(),
        ):
            raise RunFailed("there is no memory left to read one more token.", "Generate fewer texts at once.")
        return self.result[: len(ids)]

    @functools.cached_property
    def code(self) -> ctypes.Array[Instruction]:
        return (Instruction * len(self.steps))(*self.steps)

    @functools.cached_property
    def kernels(self) -> ctypes.CDLL:
        found = library()
        if found is None:
            raise NotCompiled("no kernels")
        return found
