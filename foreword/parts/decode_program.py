"""A frozen causal stack as a program of the decode kernel. A network with a part that has no step there has no program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from foreword.kernels import decode
from foreword.kernels.decode import LAYER_NORM, RMS_NORM, NotCompiled, Program
from foreword.parts.attention import DotProduct
from foreword.parts.block import Block, FeedForward, NormAfter, NormBefore
from foreword.parts.embeddings import Embeddings
from foreword.parts.frozen import FrozenLinear, QuantizedLinear
from foreword.parts.positions import PositionTable, RotaryAngles, Rotation


def program_for(
    embeddings: Embeddings, blocks: Iterable[nn.Module], norm: nn.Module, context: int, windows: Sequence[int | None]
) -> Program | None:
    """What one token per row goes through between its id and its last vector, or None where the kernel does not serve."""
    if decode.library() is None:
        return None
    try:
        return _Writer(embeddings, context).write(blocks, norm, windows)
    except NotCompiled:
        return None


class _Writer:
    def __init__(self, embeddings: Embeddings, context: int):
        self.embeddings = embeddings
        self.program = Program(embeddings.tokens.num_embeddings)
        width = embeddings.tokens.embedding_dim
        self.x, self.normed = self.program.buffer("x", width), self.program.buffer("normed", width)
        where = embeddings.where(torch.arange(context), context)
        self.rotation = where if isinstance(where, Rotation) else None

    def write(self, blocks: Iterable[nn.Module], norm: nn.Module, windows: Sequence[int | None]) -> Program:
        self._embed()
        for number, (block, window) in enumerate(zip(blocks, windows, strict=True)):
            if not isinstance(block, Block):
                raise NotCompiled(type(block).__name__)
            self._block(block, number, window or 0)
        self.program.result = self._norm(norm, self.x, self.normed)
        return self.program

    def _embed(self) -> None:
        positions = self.embeddings.positions
        if self.embeddings.segments is not None or self.embeddings.scale != 1.0:
            raise NotCompiled("segments, or token vectors that are scaled")
        table = positions.weight if isinstance(positions, PositionTable) and not positions.offset else None
        if table is None and not isinstance(positions, RotaryAngles):
            raise NotCompiled(type(positions).__name__)
        self.program.embed(self.embeddings.tokens.weight, table, self.x)
        self._norm(self.embeddings.norm, self.x, self.x)

    def _norm(self, norm: nn.Module, source: Tensor, target: Tensor, size: int = 0, groups: int = 1) -> Tensor:
        """Where the result is."""
        if isinstance(norm, nn.Identity):
            return source
        if not isinstance(norm, (nn.LayerNorm, nn.RMSNorm)):
            raise NotCompiled(type(norm).__name__)
        epsilon = norm.eps if norm.eps is not None else torch.finfo(torch.float32).eps
        self.program.norm(
            LAYER_NORM if isinstance(norm, nn.LayerNorm) else RMS_NORM,
            (norm.weight, getattr(norm, "bias", None)),
            epsilon,
            source,
            target,
            size or source.size(1),
            groups,
        )
        return target

    def _linear(self, part: nn.Module, source: Tensor, target: Tensor | str, residual: Tensor | None = None) -> Tensor:
        """Where the result is; a target may be the name of a buffer."""
        if isinstance(part, FrozenLinear):
            weight, scale = part.weight, None
        elif isinstance(part, QuantizedLinear):
            weight, scale = part.numbers, part.scale
        else:
            raise NotCompiled(type(part).__name__)
        target = self.program.buffer(target, weight.size(0)) if isinstance(target, str) else target
        self.program.linear(weight, part.bias, scale, part.activation, source, target, residual)
        return target

    def _block(self, block: Block, number: int, window: int) -> None:
        attention, feedforward = block.attention, block.feedforward
        if block.cross is not None or type(attention.scores) is not DotProduct or attention.scores.factor != 1.0:
            raise NotCompiled("scores of another kind")
        if type(feedforward) is not FeedForward or not isinstance(feedforward.act, nn.Identity):
            raise NotCompiled(type(feedforward.act).__name__)
        projected = self._linear(attention.project, self._enter(block.first), "projected")
        if self.rotation is not None:
            self.program.rotary(
                projected,
                self.rotation.cosine.contiguous(),
                self.rotation.sine.contiguous(),
                attention.size,
                2 * attention.heads,
            )
        if attention.qk_norm is not None:
            self._norm(attention.qk_norm, projected, projected, attention.size, 2 * attention.heads)
        mixed = self.program.buffer("mixed", attention.inner)
        self.program.attention(projected, mixed, attention.heads, attention.size, number, window)
        self._linear(attention.out, mixed, self.x, self.x)
        self._leave(block.first)
        inner = self._linear(feedforward.inner, self._enter(block.second), "inner")
        self._linear(feedforward.out, inner, self.x, self.x)
        self._leave(block.second)

    def _enter(self, around: NormBefore | NormAfter) -> Tensor:
        return self._norm(around.norm, self.x, self.normed) if isinstance(around, NormBefore) else self.x

    def _leave(self, around: NormBefore | NormAfter) -> None:
        if not isinstance(around, NormBefore):
            self._norm(around.norm, self.x, self.x)
