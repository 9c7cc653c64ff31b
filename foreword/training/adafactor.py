"""Adafactor: second moments of a matrix kept as one number for each row and each column (Shazeer & Stern 2018; T5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor
from torch.optim import Optimizer

from foreword.basics.numbers import NotNegative, Positive
from foreword.networks.base import Model
from foreword.parts.attention import StackedLinear
from foreword.training.optimizers import OptimizerSpec
from foreword.training.ranks import gather, local, share, whole


class AdafactorSpec(OptimizerSpec):
    """The rate is relative: a step changes a tensor by that share of its own size."""

    kind: Literal["adafactor"] = "adafactor"
    decay: NotNegative = 0.8  # the second moments' memory grows: after n steps it is 1 - n^-decay
    clip: Positive = 1.0  # the largest root mean square of a tensor's step, before the rate
    least: NotNegative = 1e-3  # what a tensor's size counts as, at the least

    def build(self, model: Model) -> list[Optimizer]:
        pieces = {id(part.weight): part.pieces for part in model.modules() if isinstance(part, StackedLinear)}
        every = [parameter for parameter in model.parameters() if parameter.requires_grad]
        return [
            Adafactor(
                [(one, pieces.get(id(one), 1)) for one in every], self.learning_rate, self.decay, self.clip, self.least
            )
        ]

    def remembers(self, model: Model) -> int:
        return sum(sum(one.shape) if one.dim() == 2 else one.numel() for one in model.parameters())

    def needs_whole(self, model: Model) -> list[int]:
        return [parameter.numel() for parameter in model.parameters()]


class Adafactor(Optimizer):
    """A matrix that stacks several maps is taken apart into them."""

    def __init__(
        self,
        weights: Iterable[tuple[Tensor, int]],
        lr: float,
        decay: float = 0.8,
        clip: float = 1.0,
        least: float = 1e-3,
    ):
        alike: dict[int, list[Tensor]] = {}
        for weight, pieces in weights:
            alike.setdefault(pieces, []).append(weight)
        groups = [{"params": some, "pieces": pieces} for pieces, some in alike.items()]
        super().__init__(groups, {"lr": lr, "decay": decay, "clip": clip, "least": least})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    slope, now = gather(local(weight.grad), weight), gather(local(weight), weight)
                    change = self._change(slope, now, self.state[weight], group)
                    local(weight).sub_(local(share(change, weight)))

    def _change(self, slope: Tensor, weight: Tensor, state: dict, group: dict) -> Tensor:
        pieces = group["pieces"]
        if not state:
            state["step"] = torch.zeros(())
            if slope.dim() == 2:
                state["rows"], state["columns"] = slope.new_zeros(slope.size(0)), slope.new_zeros(pieces, slope.size(1))
            else:
                state["squares"] = torch.zeros_like(slope)
        for name, kept in state.items():
            state[name] = whole(kept)  # of a checkpoint, what has the weight's shape comes shared out as the weight is
        state["step"] += 1
        keep = 1.0 - float(state["step"]) ** -group["decay"]
        squares = slope.square().add_(1e-30)
        if slope.dim() == 2:
            state["rows"].lerp_(squares.mean(1), 1.0 - keep)
            state["columns"].lerp_(squares.view(pieces, -1, slope.size(1)).mean(1), 1.0 - keep)
            rows = state["rows"].view(pieces, -1, 1)
            step = slope.view(pieces, -1, slope.size(1)) * (rows / rows.mean(1, keepdim=True)).rsqrt()
            step = step * state["columns"][:, None].rsqrt()
        else:
            state["squares"].lerp_(squares, 1.0 - keep)
            step = (slope * state["squares"].rsqrt())[None]
        each = step.flatten(1)
        each = each / (each.square().mean(1, keepdim=True).sqrt() / group["clip"]).clamp(min=1.0)
        size = weight.reshape(len(each), -1).square().mean(1, keepdim=True).sqrt().clamp(min=group["least"])
        return (each * size * group["lr"]).view_as(weight)
