"""Feed-forward networks of a Transformer block other than the dense one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import nn

from foreword.parts.block import FeedForward
from foreword.parts.linear import BlockSparseSpec

if TYPE_CHECKING:
    from foreword.parts.stack import StackSpec


class BlockSparseFeedForward(BlockSparseSpec):
    """The two maps of the usual one, of which only some blocks exist (Gray et al. 2017)."""

    kind: Literal["block_sparse"] = "block_sparse"

    def feedforward(self, stack: StackSpec, number: int) -> nn.Module:
        """That of one block of a stack with these settings."""
        inner = stack.inner or 4 * stack.width
        made = FeedForward(self.block, self.block, stack.activation, stack.bias, stack.dropout.inner or 0.0)
        made.inner = self.build(stack.width, inner, stack.bias, 2 * number)  # type: ignore[assignment]
        made.out = self.build(inner, stack.width, stack.bias, 2 * number + 1)  # type: ignore[assignment]
        return made

    def unfit(self, stack: StackSpec) -> list[tuple[str, str]]:
        """What of a stack's settings it cannot follow."""
        if stack.gated:
            return [("feedforward", "a gated feed-forward network is dense: leave out gated, or feedforward.")]
        inner = stack.inner or 4 * stack.width
        return [("feedforward", what) for _, what in self.misfits(stack.width, inner)]
