"""Where a token stands: a table of vectors added to the tokens', or a turn given to queries and keys."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.spec import Spec
from foreword.parts.loops import dropped, turned


class Turn(NamedTuple):
    """By how much to turn each position: [positions, size/2], or [batch, 1, positions, size/2] to meet the heads."""

    cosine: Tensor
    sine: Tensor

    def of(self, x: Tensor) -> Tensor:
        """x [batch, heads, positions, size], turned; its first half is paired with its second."""
        return turned(x, self.cosine, self.sine)


class PositionsSpec(Spec):
    """The settings of a position scheme; `build` makes it for tokens of `width` and heads of `size`."""

    def build(self, context: int, width: int, size: int, drop: float) -> Table | Turning:
        raise TypeError(f"{type(self).__name__} has no build.")

    def misfits(self, size: int) -> list[tuple[str, str]]:
        """Settings of the network that this scheme cannot follow."""
        return []


class Learned(PositionsSpec):
    """One learned vector for every position (Gehring et al. 2017; GPT-1, BERT)."""

    kind: Literal["learned"] = "learned"

    def build(self, context: int, width: int, size: int, drop: float) -> Table:
        return Table(context, width, drop)


class Rotary(PositionsSpec):
    """Queries and keys are turned by their positions, so that only distances matter (Su et al. 2021)."""

    kind: Literal["rotary"] = "rotary"
    base: float = 10000.0        # the slowest pair of numbers turns once in about 2 pi x base positions

    def build(self, context: int, width: int, size: int, drop: float) -> Turning:
        return Turning(size, self.base)

    def misfits(self, size: int) -> list[tuple[str, str]]:
        return [("heads", f"rotary positions pair the numbers of a head; {size} is odd.")] if size % 2 else []


class Table(nn.Embedding):
    def __init__(self, context: int, width: int, drop: float):
        super().__init__(context, width)
        self.drop = drop             # of the table's own entries (GPT-1's code)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        weight = dropped(self.weight, self.drop) if self.drop and self.training else self.weight
        return x + F.embedding(positions, weight)

    def turn(self, positions: Tensor) -> None:
        return None


class Turning(nn.Module):
    def __init__(self, size: int, base: float):
        super().__init__()
        self.size, self.base = size, base

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return x

    def turn(self, positions: Tensor) -> Turn:
        """positions [places] or [batch, places]"""
        pairs = torch.arange(0, self.size, 2, device=positions.device, dtype=torch.float32) / self.size
        angles = positions[..., None] * self.base ** -pairs
        if angles.dim() == 3:
            angles = angles[:, None]
        return Turn(angles.cos(), angles.sin())
