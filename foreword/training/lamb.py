"""LAMB: Adam whose step is as long, in each layer, as the layer's weights are (You et al. 2020, algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from foreword.basics.numbers import Below1, NotNegative
from foreword.networks.base import Model
from foreword.parts.attention import StackedLinear
from foreword.training.optimizers import OptimizerSpec
from foreword.training.ranks import gather, local, share


class Lamb(OptimizerSpec):
    """For batches of thousands of rows. Vectors (biases, gains) do not decay and take Adam's step, as in the authors' code."""

    kind: Literal["lamb"] = "lamb"
    betas: tuple[Below1, Below1] = (0.9, 0.999)
    epsilon: NotNegative = 1e-6
    weight_decay: NotNegative = 0.01

    def build(self, model: Model) -> list[Optimizer]:
        pieces = {id(part.weight): part.pieces for part in model.modules() if isinstance(part, StackedLinear)}
        every = [(p, pieces.get(id(p), 1)) for p in model.parameters() if p.requires_grad]
        return [LambOptimizer(every, self.learning_rate, self.betas, self.epsilon, self.weight_decay)]

    def needs_whole(self, model: Model) -> list[int]:
        """One layer at a time."""
        return [parameter.numel() for parameter in model.parameters() if parameter.dim() > 1]


class LambOptimizer(Optimizer):
    """`parameters`: each with the number of layers that it stacks, which are scaled one by one."""

    def __init__(
        self,
        parameters: Iterable[tuple[nn.Parameter, int]],
        lr: float,
        betas: tuple[float, float],
        epsilon: float,
        weight_decay: float,
    ):
        groups: dict[tuple[bool, int], list[nn.Parameter]] = {}
        for parameter, pieces in parameters:
            groups.setdefault((parameter.dim() > 1, pieces), []).append(parameter)
        super().__init__(
            [
                {"params": some, "scaled": scaled, "pieces": pieces, "weight_decay": weight_decay if scaled else 0.0}
                for (scaled, pieces), some in groups.items()
            ],
            {"lr": lr, "betas": betas, "epsilon": epsilon},
        )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            first, second = group["betas"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                memory = self.state[weight]
                if not memory:
                    memory |= {
                        "step": torch.zeros(()),
                        "mean": torch.zeros_like(weight),
                        "square": torch.zeros_like(weight),
                    }
                memory["step"] += 1
                steps = float(memory["step"])
                here, slope, mean, square = (local(x) for x in (weight, weight.grad, memory["mean"], memory["square"]))
                mean.lerp_(slope, 1 - first)
                square.mul_(second).addcmul_(slope, slope, value=1 - second)
                change = mean / (1 - first**steps) / ((square / (1 - second**steps)).sqrt() + group["epsilon"])
                change.add_(here, alpha=group["weight_decay"])
                if group["scaled"]:
                    whole = gather(change, weight)
                    whole = whole * trust(gather(here, weight), whole, group["pieces"])
                    change = local(share(whole, weight))
                here.add_(change, alpha=-group["lr"])


def trust(weight: Tensor, change: Tensor, pieces: int) -> Tensor:
    """[rows, 1] how much longer a layer's weights are than its step; 1 where either is nothing."""
    long, step = (x.reshape(pieces, -1).norm(dim=1) for x in (weight, change))
    ratio = torch.where((long > 0) & (step > 0), long / step, torch.ones_like(long))
    return ratio.repeat_interleave(weight.size(0) // pieces)[:, *[None] * (weight.dim() - 1)]
