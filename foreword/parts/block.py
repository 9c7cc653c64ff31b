"""One layer of a Transformer: attention, then a feed-forward network, each with a norm before or after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, cast

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from foreword.kernels import elementwise
from foreword.parts.attention import Attention, KeyValues, Past
from foreword.parts.positions import Where
from foreword.parts.visible import FullPattern, Pattern

Activation = Literal["relu", "relu_squared", "gelu_erf", "gelu_tanh"]
Place = Literal["before", "after"]


def activation(name: Activation) -> nn.Module:
    """The two forms of GELU differ by up to 5e-4 per call: enough to miss another implementation's logits."""
    return {"relu": nn.ReLU(), "relu_squared": SquaredReLU(), "gelu_erf": nn.GELU(), "gelu_tanh": GeluTanh()}[name]


class GeluTanh(nn.GELU):
    def __init__(self) -> None:
        super().__init__(approximate="tanh")

    def forward(self, x: Tensor) -> Tensor:
        return elementwise.gelu_tanh(x)


class SquaredReLU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return elementwise.relu_squared(x)


class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int, act: Activation, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        self.inner = nn.Linear(width, inner, bias)
        self.act = activation(act)
        self.drop = elementwise.Dropout(dropout) if dropout else nn.Identity()
        self.out = nn.Linear(inner, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.drop(self.act(self.inner(x))))


class GatedFeedForward(FeedForward):
    """What is inside is multiplied by a second map of what enters (Shazeer 2020; T5 v1.1)."""

    def __init__(self, width: int, inner: int, act: Activation, bias: bool = True, dropout: float = 0.0):
        super().__init__(width, inner, act, bias, dropout)
        self.gate = nn.Linear(width, inner, bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.drop(self.act(self.inner(x)) * self.gate(x)))


class NormBefore(nn.Module):
    """x + f(norm(x)): GPT-2 and after. The stream itself is never normalised, so the stack needs a last norm."""

    def __init__(self, norm: nn.Module, dropout: float):
        super().__init__()
        self.norm, self.drop = norm, elementwise.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def leave(self, x: Tensor, change: Tensor) -> Tensor:
        return x + self.drop(change)


class NormAfter(nn.Module):
    """norm(x + f(x)): the first Transformer, GPT-1, BERT."""

    def __init__(self, norm: nn.Module, dropout: float):
        super().__init__()
        self.norm, self.drop = norm, elementwise.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        return x

    def leave(self, x: Tensor, change: Tensor) -> Tensor:
        return self.norm(x + self.drop(change))


NORMS: dict[Place, type[NormBefore | NormAfter]] = {"before": NormBefore, "after": NormAfter}


class SourceMemory(NamedTuple):
    """Another sequence, as one block remembers it."""

    seen: KeyValues
    real: Tensor | None  # [batch, positions], False at padding


class Block(nn.Module):
    """Attention, a second attention over another sequence where `cross` is given, and a feed-forward network."""

    recompute = False  # keep only what enters a block, and compute the rest again on the way back

    def __init__(
        self,
        attention: Attention,
        feedforward: nn.Module,
        around: Sequence[NormBefore | NormAfter],
        cross: Attention | None = None,
    ):
        super().__init__()
        self.attention, self.cross, self.feedforward = attention, cross, feedforward
        self.first, self.second = around[:2]
        self.between = around[2] if cross is not None else None

    def remember(self, x: Tensor) -> KeyValues:
        """What attention remembers of vectors that enter the block."""
        return self.attention.remember(self.first.enter(x))

    def remember_source(self, x: Tensor, real: Tensor | None) -> SourceMemory:
        """Another sequence, for the second attention."""
        if self.cross is None:
            raise TypeError("this block looks at no other sequence")
        return SourceMemory(self.cross.remember(x), real)

    def forward(
        self,
        x: Tensor,
        pattern: Pattern,
        past: Past | None = None,
        real: Tensor | None = None,
        where: Where | None = None,
        source: SourceMemory | None = None,
    ) -> tuple[Tensor, KeyValues]:
        if self.recompute and self.training:
            return checkpoint(self._through, x, pattern, past, real, where, source, use_reentrant=False)
        return self._through(x, pattern, past, real, where, source)

    def look(self, x: Tensor, seen: KeyValues, pattern: Pattern, where: Where | None = None) -> Tensor:
        """Vectors that look at what is remembered and are not remembered themselves (XLNet's query stream)."""
        if self.recompute and self.training:
            return checkpoint(self._look, x, seen, pattern, where, use_reentrant=False)
        return self._look(x, seen, pattern, where)

    def _look(self, x: Tensor, seen: KeyValues, pattern: Pattern, where: Where | None) -> Tensor:
        x = self.first.leave(x, self.attention.look(self.first.enter(x), seen, pattern, None, where))
        return self.second.leave(x, self.feedforward(self.second.enter(x)))

    def _through(
        self,
        x: Tensor,
        pattern: Pattern,
        past: Past | None,
        real: Tensor | None,
        where: Where | None,
        source: SourceMemory | None,
    ) -> tuple[Tensor, KeyValues]:
        change, seen = self.attention(self.first.enter(x), pattern, past, real, where)
        x = self.first.leave(x, change)
        if self.cross is not None and self.between is not None and source is not None:
            x = self.between.leave(x, self.cross.look(self.between.enter(x), source.seen, FullPattern(), source.real))
        return self._fed_forward(x, seen, pattern, past, real)

    def _fed_forward(
        self, x: Tensor, seen: KeyValues, pattern: Pattern, past: Past | None, real: Tensor | None
    ) -> tuple[Tensor, KeyValues]:
        """x after attention, which has remembered `seen`."""
        return self.second.leave(x, self.feedforward(self.second.enter(x))), seen


class Blocks(nn.ModuleList):
    """A stack of them."""

    def __iter__(self) -> Iterator[Block]:
        return cast(Iterator[Block], super().__iter__())


def balance(blocks: Blocks) -> dict[str, Tensor]:
    """What the last call's feed-forward networks charge themselves: the balance of experts."""
    return {
        f"{name} {number}": cost
        for number, block in enumerate(blocks)
        for name, cost in getattr(block.feedforward, "costs", {}).items()
    }


def layers(module: nn.Module) -> list[Block]:
    """Every block inside, in order."""
    return [part for part in module.modules() if isinstance(part, Block)]
