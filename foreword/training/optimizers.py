"""Names of optimizers and torch's own classes behind them. Weight decay touches matrices only."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn
from torch.optim import Optimizer

from foreword.basics.spec import Spec


class OptimizerSpec(Spec):
    learning_rate: float

    def build(self, model: nn.Module) -> Optimizer:
        raise TypeError(f"{type(self).__name__} has no build.")

    def faults(self) -> list[tuple[str, str]]:
        if self.learning_rate <= 0:
            return [("learning_rate", f"learning_rate must be more than 0 (it says {self.learning_rate}).")]
        return []


def groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Matrices decay; biases, gains and other vectors do not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    found = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in found if group["params"]]


class AdamW(OptimizerSpec):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    kind: Literal["adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.01

    def build(self, model: nn.Module) -> Optimizer:
        return torch.optim.AdamW(groups(model, self.weight_decay), self.learning_rate, self.betas, self.epsilon,
                                 fused=True)


class Adam(OptimizerSpec):
    kind: Literal["adam"] = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def build(self, model: nn.Module) -> Optimizer:
        return torch.optim.Adam(groups(model, 0.0), self.learning_rate, self.betas, self.epsilon, fused=True)


class SGD(OptimizerSpec):
    kind: Literal["sgd"] = "sgd"
    momentum: float = 0.0
    weight_decay: float = 0.0

    def build(self, model: nn.Module) -> Optimizer:
        return torch.optim.SGD(groups(model, self.weight_decay), self.learning_rate, self.momentum)
