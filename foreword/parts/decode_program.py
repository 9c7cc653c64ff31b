"""A program: what one token per row goes through between its id and its last vector, run in C in one call.

For a small model the way from one layer to the next takes Python longer than the layer takes the processor. A program is
a list of plain steps, written by walking through frozen parts; a network with a part that has no step has no program.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foreword.kernels import matvec
from foreword.parts.attention import DotProduct
from foreword.parts.block import Block, NormBefore
from foreword.parts.embeddings import Embeddings
from foreword.parts.frozen import FrozenLinear, QuantizedLinear
from foreword.parts.positions import PositionTable, RotaryAngles, Rotation

EMBED, NORM_LAYER, NORM_ROOT, TURN, PRODUCT, ATTEND = range(6)        # as in decode.c


class Instruction(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int64), *((name, ctypes.c_void_p) for name in
                ("source", "target", "first", "second", "third", "residual")),
                *((name, ctypes.c_int64) for name in ("a", "b", "c", "d")), ("epsilon", ctypes.c_double)]


class Unwritable(Exception):
    """A part for which there is no step."""


class Program:
    """Steps over buffers that hold up to matvec.ROWS rows."""

    def __init__(self, embeddings: Embeddings, blocks: Iterable[nn.Module], norm: nn.Module, context: int,
                 windows: Sequence[int | None]):
        self.steps: list[Instruction] = []
        self.held: list[Tensor] = []           # tensors whose places the steps know
        self.buffers: dict[str, Tensor] = {}
        self.context, self.vocabulary = context, embeddings.tokens.num_embeddings
        width = embeddings.tokens.embedding_dim
        x, self.normed = self._buffer("x", width), self._buffer("normed", width)
        self._embed(embeddings, x)
        self.turns = self._turns(embeddings)
        for number, (block, window) in enumerate(zip(blocks, windows, strict=True)):
            if not isinstance(block, Block):
                raise Unwritable(type(block).__name__)
            self._block(block, number, window, x)
        self.last = self._norm(norm, x, self.normed, width)
        self.code = (Instruction * len(self.steps))(*self.steps)
        self.library = matvec.compiled()

    def run(self, ids: np.ndarray, lengths: np.ndarray, kept: Tensor) -> Tensor:
        """ids [rows] at positions `lengths` -> vectors [rows, width], which the next run overwrites.

        kept [layers, 2, rows, heads, room, size] is what each row remembers; the new token's part is added to it.
        """
        ids, lengths = (np.ascontiguousarray(numbers, np.int64) for numbers in (ids, lengths))
        if ids.view(np.uint64).max() >= self.vocabulary or not kept.is_contiguous():        # C would read beyond its tables
            raise IndexError(f"token {ids.max()} or {ids.min()} is not one of {self.vocabulary}, or the cache is not in order")
        self.library.run(self.code, len(self.steps), len(ids), ids.ctypes.data, lengths.ctypes.data, kept.data_ptr(),
                         kept.size(4), torch.get_num_threads())
        return self.last[: len(ids)]

    def _buffer(self, name: str, width: int) -> Tensor:
        """The same for all layers, which use it in turn."""
        if name not in self.buffers:
            self.buffers[name] = torch.empty(matvec.ROWS, width)
        if self.buffers[name].size(1) != width:
            raise Unwritable(f"layers of {self.buffers[name].size(1)} and {width}")
        return self.buffers[name]

    def _hold(self, tensor: Tensor, kinds: tuple[torch.dtype, ...] = (torch.float32,)) -> Tensor:
        if tensor.dtype not in kinds or tensor.device.type != "cpu" or not tensor.is_contiguous():
            raise Unwritable(f"{tensor.dtype} on {tensor.device}")
        self.held.append(tensor)
        return tensor

    def _step(self, kind: int, source: Tensor | None, target: Tensor, tensors: dict[str, Tensor | None], a: int = 0, b: int = 0,
              c: int = 0, d: int = 0, epsilon: float = 0.0) -> None:
        places = {name: None if tensor is None else self._hold(tensor, (torch.float32, torch.int8)).data_ptr()
                  for name, tensor in {"source": source, "target": target, **tensors}.items()}
        self.steps.append(Instruction(kind=kind, a=a, b=b, c=c, d=d, epsilon=epsilon, **places))

    def _embed(self, embeddings: Embeddings, x: Tensor) -> None:
        if embeddings.segments is not None:
            raise Unwritable("segments")
        if not isinstance(embeddings.positions, (PositionTable, RotaryAngles)) or getattr(embeddings.positions, "offset", 0):
            raise Unwritable(type(embeddings.positions).__name__)
        table = embeddings.positions.weight if isinstance(embeddings.positions, PositionTable) else None
        width = embeddings.tokens.embedding_dim
        self._step(EMBED, None, x, {"first": embeddings.tokens.weight, "second": table}, width)
        self._norm(embeddings.norm, x, x, width)

    def _turns(self, embeddings: Embeddings) -> tuple[Tensor, Tensor] | None:
        where = embeddings.where(torch.arange(self.context), self.context)
        return (where.cosine.contiguous(), where.sine.contiguous()) if isinstance(where, Rotation) else None

    def _norm(self, norm: nn.Module, source: Tensor, target: Tensor, size: int, groups: int = 1) -> Tensor:
        """`groups` of `size` numbers in each row, each brought to one length; where the result is."""
        if isinstance(norm, nn.Identity):
            return source
        if not isinstance(norm, (nn.LayerNorm, nn.RMSNorm)):
            raise Unwritable(type(norm).__name__)
        epsilon = norm.eps if norm.eps is not None else torch.finfo(torch.float32).eps
        self._step(NORM_LAYER if isinstance(norm, nn.LayerNorm) else NORM_ROOT, source, target,
                   {"first": norm.weight, "second": getattr(norm, "bias", None)}, size, groups, source.size(1), target.size(1),
                   epsilon)
        return target

    def _product(self, linear: nn.Module, source: Tensor, target: Tensor, residual: Tensor | None = None) -> None:
        weight, scale, bias, activation = self._stored(linear)
        self._step(PRODUCT, source, target, {"first": weight, "second": bias, "third": scale, "residual": residual},
                   weight.size(1), weight.size(0), matvec.ACTIVATIONS[activation])

    def _stored(self, linear: nn.Module) -> tuple[Tensor, Tensor | None, Tensor | None, str]:
        if isinstance(linear, FrozenLinear):
            return linear.weight, None, linear.bias, linear.activation
        if isinstance(linear, QuantizedLinear):
            return linear.numbers, linear.scale, linear.bias, linear.activation
        raise Unwritable(type(linear).__name__)

    def _block(self, block: Block, number: int, window: int | None, x: Tensor) -> None:
        attention, feedforward = block.attention, block.feedforward
        if block.cross is not None or type(attention.scores) is not DotProduct or attention.scores.factor != 1.0:
            raise Unwritable("scores of another kind")
        width, size = attention.inner, attention.size
        made, mixed = self._buffer("made", 3 * width), self._buffer("mixed", width)
        self._product(attention.project, self._enter(block.first, x), made)
        if self.turns is not None:
            self._step(TURN, made, made, {"first": self.turns[0], "second": self.turns[1]}, size, 2 * attention.heads, 3 * width)
        if attention.qk_norm is not None:
            self._norm(attention.qk_norm, made, made, size, 2 * attention.heads)
        self._step(ATTEND, made, mixed, {}, attention.heads, size, number, window or 0)
        self._product(attention.out, mixed, x, x)
        self._leave(block.first, x)
        if not isinstance(feedforward.act, nn.Identity):
            raise Unwritable(type(feedforward.act).__name__)
        inner = self._buffer("inner", self._stored(feedforward.inner)[0].size(0))
        self._product(feedforward.inner, self._enter(block.second, x), inner)
        self._product(feedforward.out, inner, x, x)
        self._leave(block.second, x)

    def _enter(self, around: Any, x: Tensor) -> Tensor:
        return self._norm(around.norm, x, self.normed, x.size(1)) if isinstance(around, NormBefore) else x

    def _leave(self, around: Any, x: Tensor) -> None:
        if not isinstance(around, NormBefore):
            self._norm(around.norm, x, x, x.size(1))
