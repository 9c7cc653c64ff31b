"""How deep a stack is: every block once, or the same blocks again and again, as often as each position asks for.

Dehghani et al. 2018, Universal Transformers; the halting is Graves 2016, Adaptive Computation Time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Layers, NotNegative, Share
from foreword.basics.spec import Spec
from foreword.parts.attention import KeyValues, Past
from foreword.parts.positions import sinusoids

if TYPE_CHECKING:
    from foreword.parts.stack import StackSpec

Pass = Callable[..., tuple[Tensor, KeyValues]]  # (x, past=...): one block, told everything else
AddPositions = Callable[[Tensor], Tensor]  # adds the positions


class StackOutput(NamedTuple):
    """What went through a stack."""

    layers: list[Tensor]  # what entered it, and what each block made of it; of several passes, in the last one
    seen: list[KeyValues]  # what each pass of each block remembers
    costs: dict[str, Tensor]  # what the stack itself charges


class SinglePass(nn.Module):
    """Every block once."""

    def forward(
        self, x: Tensor, blocks: Sequence[Pass], past: Sequence[Past] | None, place: AddPositions, real: Tensor | None
    ) -> StackOutput:
        layers, seen = [x], []
        for block, earlier in zip(blocks, past or (None,) * len(blocks)):
            x, now = block(x, past=earlier)
            layers.append(x)
            seen.append(now)
        return StackOutput(layers, seen, {})


class DepthSpec(Spec):
    """The settings of a depth that is not every block once; `build` makes it for a stack."""

    passes: Layers = 1  # how often blocks are gone through, at most

    def build(self, stack: StackSpec) -> nn.Module:
        raise TypeError(f"{type(self).__name__} has no build.")


class Recurring(DepthSpec):
    """The blocks of the stack (most often one) several times over; positions and the number of the step are added before each.

    `adaptive`: a position halts when its halting probabilities have added up; what it then is stays, and others still see it.
    """

    kind: Literal["recurring"] = "recurring"
    passes: Layers = 6
    time: Literal["sinusoid", "learned", "none"] = "sinusoid"  # how a step is told from the next
    adaptive: bool = False
    epsilon: Share = 0.01  # a position halts at a sum of 1 - epsilon
    ponder: NotNegative = 0.01  # what a step of a position costs
    emits: Literal["interpolate", "weighted"] = "interpolate"  # each state over what was emitted before (the paper),
    #                                                            or the sum of all states by their weights (Graves)

    def faults(self) -> list[tuple[str, str]]:
        if 0 < self.epsilon < 1:
            return []
        return [("epsilon", f"epsilon must lie between 0 and 1 (it says {self.epsilon:g}).")]

    def build(self, stack: StackSpec) -> nn.Module:
        return RecurringDepth(self, stack)


class RecurringDepth(nn.Module):
    shown: list[Halting] | None = None  # a list here is given the halting of every call, for pictures

    def __init__(self, spec: Recurring, stack: StackSpec):
        super().__init__()
        self.spec = spec
        self.steps = nn.Embedding(spec.passes, stack.width) if spec.time == "learned" else None
        self.halt = nn.Linear(stack.width, 1) if spec.adaptive else None
        stack.initial.apply(self)
        if self.halt is not None:
            nn.init.ones_(self.halt.bias)  # at first most positions halt soon

    def forward(
        self, x: Tensor, blocks: Sequence[Pass], past: Sequence[Past] | None, place: AddPositions, real: Tensor | None
    ) -> StackOutput:
        layers, seen = [x], []
        halting = None if self.halt is None else Halting(x, self.spec)
        for step in range(self.spec.passes):
            now = place(x) + self.signal(step, x)
            chance = None if self.halt is None else self.halt(now)[..., 0].sigmoid()
            layers[1:] = []
            for number, block in enumerate(blocks):
                now, kept = block(now, past=past[step * len(blocks) + number] if past else None)
                layers.append(now)
                seen.append(kept)
            if halting is None or chance is None:
                x = now
            else:
                x = halting.step(chance, x, now, last=step == self.spec.passes - 1)
        if halting is None:
            return StackOutput(layers, seen, {})
        if self.shown is not None:
            self.shown.append(halting)
        layers[-1] = halting.emitted
        return StackOutput(layers, seen, {"ponder": self.spec.ponder * halting.time(real)})

    def signal(self, step: int, x: Tensor) -> Tensor:
        """What says which step it is, the first being 1."""
        if self.steps is not None:
            return self.steps.weight[step]
        if self.spec.time == "none":
            return x.new_zeros(())
        return sinusoids(torch.tensor(step + 1, device=x.device), x.size(-1)).to(x.dtype)


class Halting:
    """Adaptive Computation Time: which positions still go on, and what they have emitted so far."""

    def __init__(self, x: Tensor, spec: Recurring):
        self.spec = spec
        self.emitted = torch.zeros_like(x)
        self.sum = x.new_zeros(x.shape[:-1])  # of the halting probabilities so far
        self.remainder = torch.zeros_like(self.sum)  # what was left of 1 when a position halted
        self.steps = torch.zeros_like(self.sum)
        self.running = torch.ones_like(self.sum, dtype=torch.bool)
        self.weights: list[Tensor] = []  # of each step [batch, positions]; they sum to 1

    def step(self, chance: Tensor, before: Tensor, now: Tensor, last: bool) -> Tensor:
        """chance [batch, positions]; the states before a step and after it -> those that the next one starts from."""
        ends = self.running & ((self.sum + chance > 1 - self.spec.epsilon) | last)
        goes = self.running & ~ends
        left = 1 - self.sum
        weight = torch.where(ends, left, torch.where(goes, chance, torch.zeros_like(chance)))
        self.remainder = torch.where(ends, left, self.remainder)
        self.sum = torch.where(goes, self.sum + chance, self.sum)
        self.steps = self.steps + self.running
        self.weights.append(weight)
        share = weight[..., None]
        kept = self.emitted if self.spec.emits == "weighted" else (1 - share) * self.emitted
        self.emitted = share * now + kept
        state = torch.where(self.running[..., None], now, before)
        self.running = goes
        return state

    def time(self, real: Tensor | None) -> Tensor:
        """Steps and remainder, the mean over the tokens of each row and over rows, so that parts of a batch add up."""
        took = self.steps + self.remainder
        if real is None:
            return took.mean()
        there = real[:, real.size(1) - took.size(1) :].to(took.dtype)
        return ((took * there).sum(1) / there.sum(1).clamp(min=1)).mean()
