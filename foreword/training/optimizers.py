"""Names of optimizers and the classes behind them, torch's own where there is one. Weight decay touches matrices only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from foreword.basics.numbers import Below1, NotNegative, Positive
from foreword.basics.spec import Spec
from foreword.networks.base import Model
from foreword.parts.attention import StackedLinear
from foreword.parts.ngrams import row_tables
from foreword.training.ranks import gather, local, share


class OptimizerSpec(Spec):
    learning_rate: Positive

    def build(self, model: Model) -> list[Optimizer]:
        """One or more optimizers, which share the model's parameters out among them."""
        raise TypeError(f"{type(self).__name__} has no build.")

    def remembers(self, model: Model) -> int:
        """How many numbers it keeps beside the parameters, once it has taken a step."""
        return 2 * sum(parameter.numel() for parameter in model.parameters())

    def needs_whole(self, model: Model) -> list[int]:
        """Numbers of each group of parameters that a step takes whole and together, where processes share them out."""
        return []


def groups(parameters: Iterable[Tensor], weight_decay: float) -> list[dict]:
    """Matrices decay; biases, gains and other vectors do not. What is frozen is in no group."""
    every = [p for p in parameters if p.requires_grad]
    matrices, vectors = [p for p in every if p.dim() >= 2], [p for p in every if p.dim() < 2]
    found = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in found if group["params"]]


def optimizers_for(spec: OptimizerSpec, model: Model) -> list[Optimizer]:
    """Those of a recipe, and one for the tables of which a step changes only rows that it has read (none, for most)."""
    tables = row_tables(model)
    learning = [table.weight for table in tables if table.weight.requires_grad]
    for weight in learning:
        weight.requires_grad_(False)  # so that the others leave it out
    made = spec.build(model)
    for weight in learning:
        weight.requires_grad_(True)
    groups_ = [{"params": [t.weight], "lr": t.learning_rate} for t in tables if t.weight.requires_grad]
    return [*made, RowAdagrad(groups_)] if groups_ else made


def depths(model: Model) -> list[tuple[list[Tensor], int]]:
    """Parameters by how many layers lie between them and the heads: 0 for heads and a last norm, the most for embeddings."""
    levels = model.network.levels()
    under = {id(parameter): len(levels) - number for number, level in enumerate(levels) for parameter in level}
    found: dict[int, list[Tensor]] = {}
    for parameter in model.parameters():
        found.setdefault(under.get(id(parameter), 0), []).append(parameter)
    return [(found[number], number) for number in sorted(found)]


class AdamW(OptimizerSpec):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    kind: Literal["adamw"] = "adamw"
    betas: tuple[Below1, Below1] = (0.9, 0.999)
    epsilon: NotNegative = 1e-8
    weight_decay: NotNegative = 0.01
    layer_decay: Positive | None = None  # of the rate of the layer above (Howard & Ruder 2018)

    def build(self, model: Model) -> list[Optimizer]:
        if self.layer_decay is None:
            return [self.over(model.parameters())]
        shared = [
            {**group, "lr": self.learning_rate * self.layer_decay**under}
            for parameters, under in depths(model)
            for group in groups(parameters, self.weight_decay)
        ]
        return [torch.optim.AdamW(shared, self.learning_rate, self.betas, self.epsilon, fused=True)]

    def over(self, parameters: Iterable[Tensor]) -> Optimizer:
        return torch.optim.AdamW(
            groups(parameters, self.weight_decay), self.learning_rate, self.betas, self.epsilon, fused=True
        )


class Adam(OptimizerSpec):
    kind: Literal["adam"] = "adam"
    betas: tuple[Below1, Below1] = (0.9, 0.999)
    epsilon: NotNegative = 1e-8

    def build(self, model: Model) -> list[Optimizer]:
        return [
            torch.optim.Adam(groups(model.parameters(), 0.0), self.learning_rate, self.betas, self.epsilon, fused=True)
        ]


class Adamax(OptimizerSpec):
    """Adam whose step is divided by the largest recent gradient instead of their mean (Kingma & Ba 2015, section 7.1)."""

    kind: Literal["adamax"] = "adamax"
    betas: tuple[Below1, Below1] = (0.9, 0.999)
    epsilon: NotNegative = 1e-8

    def build(self, model: Model) -> list[Optimizer]:
        return [torch.optim.Adamax(groups(model.parameters(), 0.0), self.learning_rate, self.betas, self.epsilon)]


class Adagrad(OptimizerSpec):
    """Steps divided by the root of all squared gradients so far (Duchi et al. 2011)."""

    kind: Literal["adagrad"] = "adagrad"
    accumulated: NotNegative = 1.0  # before the first step, which would be huge from 0

    def build(self, model: Model) -> list[Optimizer]:
        return [
            torch.optim.Adagrad(
                groups(model.parameters(), 0.0), self.learning_rate, initial_accumulator_value=self.accumulated
            )
        ]

    def remembers(self, model: Model) -> int:
        return sum(parameter.numel() for parameter in model.parameters())


class SGD(OptimizerSpec):
    kind: Literal["sgd"] = "sgd"
    momentum: Below1 = 0.0
    weight_decay: NotNegative = 0.0

    def build(self, model: Model) -> list[Optimizer]:
        return [torch.optim.SGD(groups(model.parameters(), self.weight_decay), self.learning_rate, self.momentum)]

    def remembers(self, model: Model) -> int:
        return sum(parameter.numel() for parameter in model.parameters()) if self.momentum else 0


class MuonAndAdam(OptimizerSpec):
    """Muon for the matrices inside the network, Adam for tables, heads and vectors (Jordan et al. 2024)."""

    kind: Literal["muon"] = "muon"
    learning_rate: Positive = 0.02  # of Muon; Adam has its own, and both follow the schedule
    momentum: Below1 = 0.95
    weight_decay: NotNegative = 0.0
    adam: AdamW = AdamW(learning_rate=3e-3, betas=(0.9, 0.95), epsilon=1e-10, weight_decay=0.0)

    def build(self, model: Model) -> list[Optimizer]:
        matrices = self._matrices(model)
        taken = {id(weight) for weight, _ in matrices}
        rest = self.adam.over(p for p in model.parameters() if id(p) not in taken)
        if not matrices:
            return [rest]
        return [Muon(matrices, self.learning_rate, self.momentum, self.weight_decay), rest]

    def remembers(self, model: Model) -> int:
        matrices = sum(part.weight.numel() for part in model.network.modules() if isinstance(part, nn.Linear))
        return self.adam.remembers(model) - matrices  # one number for each of a matrix, two for each of the rest

    def needs_whole(self, model: Model) -> list[int]:
        matrices = self._matrices(model)
        alike = Muon(matrices, self.learning_rate).param_groups if matrices else []
        return [sum(weight.numel() for weight in group["params"]) for group in alike]

    def _matrices(self, model: Model) -> list[tuple[Tensor, int]]:
        """Each with the number of maps it stacks."""
        linear = [part for part in model.network.modules() if isinstance(part, nn.Linear)]
        return [(part.weight, part.pieces if isinstance(part, StackedLinear) else 1) for part in linear]


class Muon(Optimizer):
    """Momentum whose step is the nearest orthogonal matrix: all directions of a matrix learn at one pace.

    Matrices of one shape are orthogonalised together, in float32: on a CPU, bfloat16 (torch.optim.Muon) is slower. A matrix
    that stacks several maps is taken apart into them.
    """

    def __init__(
        self, matrices: Iterable[tuple[Tensor, int]], lr: float, momentum: float = 0.95, weight_decay: float = 0.0
    ):
        alike: dict[tuple, list[Tensor]] = {}
        for weight, pieces in matrices:
            alike.setdefault((weight.size(0) // pieces, weight.size(1)), []).append(weight)
        super().__init__(
            [{"params": weights, "shape": shape} for shape, weights in alike.items()],
            {"lr": lr, "momentum": momentum, "weight_decay": weight_decay},
        )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if not weights:
                continue
            rows, columns = group["shape"]
            slopes = [local(weight.grad) for weight in weights]
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight]["momentum"] = torch.zeros_like(weight)
            averages = [local(self.state[weight]["momentum"]) for weight in weights]
            torch._foreach_lerp_(averages, slopes, 1.0 - group["momentum"])
            ahead = torch._foreach_lerp(slopes, averages, group["momentum"])
            gathered = torch.cat(
                [gather(one, weight) for one, weight in zip(ahead, weights)]
            )  # only a whole matrix will do
            change = orthogonal(gathered.view(-1, rows, columns)).reshape(-1, columns)
            each = change.split([weight.size(0) for weight in weights])
            pace, here = group["lr"] * max(1.0, rows / columns) ** 0.5, [local(weight) for weight in weights]
            if group["weight_decay"]:
                torch._foreach_mul_(here, 1.0 - group["lr"] * group["weight_decay"])
            own = [local(share(one, weight)) for one, weight in zip(each, weights)]
            torch._foreach_add_(here, own, alpha=-pace)


class RowAdagrad(Optimizer):
    """Adagrad with one number for each row: its step is divided by the root of all squared gradients of the row so far.

    A row that no token of a step has read does not change, whatever the size of its table.
    """

    def __init__(self, groups: list[dict], epsilon: float = 1e-10):
        super().__init__(groups, {"epsilon": epsilon})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                slopes = weight.grad.coalesce()  # one for each row: those of its occurrences added up, in their order
                rows, values = slopes.indices()[0], slopes.values()
                if not self.state[weight]:
                    self.state[weight]["squares"] = weight.new_zeros(len(weight))
                squares = self.state[weight]["squares"]
                own = squares[rows] + values.square().mean(1)
                squares[rows] = own
                weight.index_add_(
                    0, rows, values * own.sqrt().add_(group["epsilon"]).reciprocal_()[:, None], alpha=-group["lr"]
                )


def orthogonal(x: Tensor, steps: int = 4) -> Tensor:
    """x [matrices, rows, columns] -> about the nearest matrices whose singular values are 1 (between 0.7 and 1.2).

    Newton-Schulz, an odd polynomial applied again and again. All of it happens to the small square product of a matrix with
    itself, and only the result meets the matrix. Rows are first scaled so that no singular value is above 1, which saves a
    step (Boissin et al. 2025).
    """
    wide = x if x.size(1) <= x.size(2) else x.mT
    square = wide @ wide.mT
    fit = square.abs().sum(-1, keepdim=True).clamp(min=1e-14).rsqrt()
    square = square * fit * fit.mT
    factor = whole = _factor(square)
    for _ in range(steps - 1):
        square = factor @ square @ factor
        factor = _factor(square)
        whole = factor @ whole
    made = whole @ (wide * fit)
    return made if x.size(1) <= x.size(2) else made.mT


def _factor(square: Tensor) -> Tensor:
    """3.4445 - 4.7750 x + 2.0315 x^2, which the matrix is multiplied by: Jordan's numbers, steep where values are small."""
    made = torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315)
    made.diagonal(dim1=1, dim2=2).add_(3.4445)
    return made
