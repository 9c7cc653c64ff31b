"""Linear maps as parts: dense, or only some blocks of the matrix, at the cost of those (Gray et al. 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.parts import LAYOUTS
from foreword.parts.layouts import LayoutSpec, WattsStrogatz


class LinearSpec(Spec):
    """How a vector is mapped to another."""

    def build(self, inputs: int, outputs: int, bias: bool = True, number: int = 0) -> nn.Module:
        """`number`: which of several such maps it is."""
        raise TypeError(f"{type(self).__name__} has no build.")

    def misfits(self, inputs: int, outputs: int) -> list[tuple[str, str]]:
        return []


class DenseSpec(LinearSpec):
    """Everything to everything."""

    kind: Literal["dense"] = "dense"

    def build(self, inputs: int, outputs: int, bias: bool = True, number: int = 0) -> nn.Module:
        return nn.Linear(inputs, outputs, bias)


class BlockSparseSpec(LinearSpec):
    """Blocks of the matrix that a layout names; the others do not exist."""

    kind: Literal["block_sparse"] = "block_sparse"
    chosen: ClassVar[Mapping[str, Registry]] = {"layout": LAYOUTS}
    block: Size = 32  # side of a block
    layout: SerializeAsAny[LayoutSpec] = WattsStrogatz()

    def build(self, inputs: int, outputs: int, bias: bool = True, number: int = 0) -> BlockSparseLinear:
        drawn = self.layout.model_copy(update={"seed": self.layout.seed + 1000 * number})
        return BlockSparseLinear(drawn.blocks(inputs // self.block, outputs // self.block), self.block, bias)

    def misfits(self, inputs: int, outputs: int) -> list[tuple[str, str]]:
        if wrong := [size for size in (inputs, outputs) if size % self.block]:
            return [("block", f"blocks of {self.block} do not divide a width of {wrong[0]}.")]
        if max(inputs, outputs) % min(inputs, outputs):
            return [("layout", f"a layout is of squares: {inputs} and {outputs} must divide one by the other.")]
        return []


class Bucket(NamedTuple):
    """Columns of a layout that have equally many blocks: they are multiplied together."""

    first: int  # of the stored blocks
    columns: int
    each: int  # blocks of a column


class BlockSparseLinear(nn.Module):
    """y = x W. Only the blocks of W that exist are stored, in the order of their columns, and only they have a gradient."""

    rows: Tensor  # [blocks], which block of the inputs each one reads
    owners: Tensor  # [blocks], and which block of the outputs it adds to
    columns: Tensor  # [columns], which block of the outputs each column is

    def __init__(self, layout: np.ndarray, block: int, bias: bool = True):
        super().__init__()
        self.block, (self.inputs, self.outputs) = block, layout.shape
        degrees = layout.sum(0)
        order = [column for column in np.argsort(degrees, kind="stable").tolist() if degrees[column]]
        rows = [np.flatnonzero(layout[:, column]) for column in order]
        self.buckets: list[Bucket] = []
        for each in map(len, rows):
            if not self.buckets or self.buckets[-1].each != each:
                first = sum(one.columns * one.each for one in self.buckets)
                self.buckets.append(Bucket(first, 0, each))
            self.buckets[-1] = self.buckets[-1]._replace(columns=self.buckets[-1].columns + 1)
        found = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        self.register_buffer("rows", torch.from_numpy(found.astype(np.int64)), persistent=False)
        owners = np.repeat(np.asarray(order, np.int64), list(map(len, rows)))
        self.register_buffer("owners", torch.from_numpy(owners), persistent=False)
        self.register_buffer("columns", torch.from_numpy(np.asarray(order, np.int64)), persistent=False)
        self.weight = nn.Parameter(torch.empty(len(found), block, block))  # [blocks, inputs of a block, its outputs]
        self.bias = nn.Parameter(torch.zeros(self.outputs * block)) if bias else None
        self.settle()

    def settle(self) -> None:
        """Outputs at first as large as inputs, however many blocks a column has."""
        for bucket in self.buckets:
            some = self.weight.data[bucket.first : bucket.first + bucket.columns * bucket.each]
            nn.init.normal_(some, 0.0, (bucket.each * self.block) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]"""
        rows = x.reshape(-1, x.size(-1))
        with torch.autocast(x.device.type, enabled=False):
            made = _BlockProduct.apply(rows.to(self.weight.dtype), self.weight, self)
        made = made if self.bias is None else made + self.bias
        return made.view(*x.shape[:-1], made.size(-1))

    def matrix(self) -> Tensor:
        """The whole matrix [outputs, inputs], as an nn.Linear has it: zero where there is no block."""
        whole = self.weight.new_zeros(self.inputs, self.outputs, self.block, self.block)
        whole[self.rows, self.owners] = self.weight
        return whole.permute(1, 3, 0, 2).reshape(self.outputs * self.block, self.inputs * self.block)

    def extra_repr(self) -> str:
        return f"{len(self.weight):,} of {self.inputs * self.outputs:,} blocks of {self.block}"


class _BlockProduct(torch.autograd.Function):
    """Inputs are turned so that a block of them is one piece of memory; what a column reads is then copied together."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, made: BlockSparseLinear) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.made, turned = made, _turned(x, made.inputs)
        out = x.new_zeros(made.outputs, made.block, len(x))
        for bucket, blocks, columns in _buckets(made, weight):
            read = _read(turned, made, bucket)
            out[columns] = torch.bmm(blocks.mT, read)
        return out.view(-1, len(x)).t().contiguous()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:
        (x, weight), made = ctx.saved_tensors, ctx.made
        with torch.autocast(x.device.type, enabled=False):
            turned = _turned(x, made.inputs)
            above = _turned(slopes[0].to(x.dtype), made.outputs).view(made.outputs, made.block, len(x))
            below, learned = torch.zeros_like(turned), torch.empty_like(weight)
            for bucket, blocks, columns in _buckets(made, weight):
                here, some = above[columns], slice(bucket.first, bucket.first + bucket.columns * bucket.each)
                torch.bmm(_read(turned, made, bucket), here.mT, out=learned[some].view_as(blocks))
                below.index_add_(0, made.rows[some], torch.bmm(blocks, here).view(-1, turned.size(1)))
        return below.view(-1, len(x)).t(), learned, None


def _turned(x: Tensor, blocks: int) -> Tensor:
    """[rows, width] -> [blocks, block x rows]"""
    return x.t().contiguous().view(blocks, -1)


def _read(turned: Tensor, made: BlockSparseLinear, bucket: Bucket) -> Tensor:
    """What each column of a bucket reads. [columns, each x block, rows]"""
    rows = made.rows[bucket.first : bucket.first + bucket.columns * bucket.each]
    return turned.index_select(0, rows).view(bucket.columns, bucket.each * made.block, -1)


def _buckets(made: BlockSparseLinear, weight: Tensor) -> list[tuple[Bucket, Tensor, Tensor]]:
    """(bucket, its blocks [columns, each x block, block], its columns)"""
    found, at = [], 0
    for bucket in made.buckets:
        blocks = weight[bucket.first : bucket.first + bucket.columns * bucket.each]
        columns = made.columns[at : at + bucket.columns]
        found.append((bucket, blocks.view(bucket.columns, bucket.each * made.block, made.block), columns))
        at += bucket.columns
    return found
