"""A feed-forward network whose two maps also mix neighbours: separable convolutions (Universal Transformer, section 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.spec import Spec
from foreword.parts.attention import KeyValues, Past
from foreword.parts.block import Activation, Block, FeedForward
from foreword.parts.visible import FullPattern, LocalPattern, Pattern

if TYPE_CHECKING:
    from foreword.parts.stack import StackSpec

FIRST, SECOND = 3, 5  # positions that each convolution sees, as in the authors' code
BEHIND = FIRST - 1 + SECOND - 1  # earlier positions that both together look back at


class ConvolutionState(NamedTuple):
    """What entered at the last positions, and which of them are tokens."""

    x: Tensor  # [batch, BEHIND, width]
    real: Tensor  # [batch, BEHIND]


class KeyValuesAndTail(NamedTuple):
    """What a block with convolutions remembers of a context."""

    seen: KeyValues
    tail: ConvolutionState

    @property
    def keys(self) -> Tensor:
        return self.seen.keys

    def then(self, later: KeyValues) -> KeyValues:
        return self.seen.then(later)


class Separable(Spec):
    """Of two separable convolutions instead of two linear maps (Dehghani et al. 2018, Universal Transformers)."""

    kind: Literal["separable"] = "separable"

    def feedforward(self, stack: StackSpec, number: int) -> SeparableFeedForward:
        """That of one block of a stack with these settings."""
        inner = stack.inner or 4 * stack.width
        return SeparableFeedForward(stack.width, inner, stack.activation, stack.bias, stack.dropout.inner or 0.0)

    def unfit(self, stack: StackSpec) -> list[tuple[str, str]]:
        """What of a stack's settings it cannot follow."""
        wrong = "a feed-forward network is gated or made of convolutions: leave out gated, or feedforward."
        return [("feedforward", wrong)] if stack.gated else []


class SeparableFeedForward(FeedForward):
    """`first` and `second` mix each number with its own of the neighbours, `inner` and `out` the numbers of a position."""

    def __init__(self, width: int, inner: int, act: Activation, bias: bool = True, dropout: float = 0.0):
        super().__init__(width, inner, act, bias, dropout)
        self.first = nn.Conv1d(width, width, FIRST, groups=width, bias=False)
        self.second = nn.Conv1d(inner, inner, SECOND, groups=inner, bias=False)

    def both_ways(self, x: Tensor, real: Tensor | None) -> Tensor:
        """x [batch, positions, width]; every position sees its neighbours on either side."""
        return self._mixed(x, real, ahead=True)

    def looking_back(
        self, x: Tensor, real: Tensor | None, tail: ConvolutionState | None
    ) -> tuple[Tensor, ConvolutionState]:
        """Every position sees those before it, the tail of what was read earlier among them."""
        batch, positions, width = x.shape
        there = torch.ones_like(x[..., 0], dtype=torch.bool) if real is None else real
        if tail is None:
            tail = ConvolutionState(x.new_zeros(batch, BEHIND, width), there.new_zeros(batch, BEHIND))
        x, there = torch.cat([tail.x, x], 1), torch.cat([tail.real, there], 1)
        return self._mixed(x, there, ahead=False)[:, -positions:], ConvolutionState(x[:, -BEHIND:], there[:, -BEHIND:])

    def _mixed(self, x: Tensor, real: Tensor | None, ahead: bool) -> Tensor:
        inner = self.drop(self.act(self.inner(_convolved(self.first, x, real, ahead))))
        return self.out(_convolved(self.second, inner, real, ahead))


def _convolved(part: nn.Conv1d, x: Tensor, real: Tensor | None, ahead: bool) -> Tensor:
    """Padding is nothing to its neighbours."""
    if real is not None:
        x = x * real[..., None].to(x.dtype)
    more = part.kernel_size[0] - 1
    return part(F.pad(x.mT, (more // 2, more // 2) if ahead else (more, 0))).mT


class SeparableBlock(Block):
    """A block whose feed-forward network sees neighbours: what it remembers is the tail of what it has read, too."""

    feedforward: SeparableFeedForward

    def _fed_forward(
        self, x: Tensor, seen: KeyValues, pattern: Pattern, past: Past | None, real: Tensor | None
    ) -> tuple[Tensor, KeyValues]:
        entering = self.second.enter(x)
        here = None if real is None else real[:, real.size(1) - x.size(1) :]
        if isinstance(pattern, (FullPattern, LocalPattern)):
            return self.second.leave(x, self.feedforward.both_ways(entering, here)), seen
        earlier = past.tail if isinstance(past, KeyValuesAndTail) else None
        change, tail = self.feedforward.looking_back(entering, here, earlier)
        return self.second.leave(x, change), KeyValuesAndTail(seen, tail)  # type: ignore[return-value]
