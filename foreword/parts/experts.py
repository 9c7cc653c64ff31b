"""Sparsely-gated mixture of experts (Shazeer et al. 2017): every position is read by a few of many small networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import NotNegative, Size
from foreword.basics.spec import Spec

if TYPE_CHECKING:
    from foreword.parts.stack import StackSpec


class BetweenLayersSpec(Spec):
    """What stands between two layers, beside dropout."""

    def build(self, width: int) -> nn.Module | None:
        raise TypeError(f"{type(self).__name__} has no build.")

    def without_chance(self) -> Self:
        return self


class NothingBetween(BetweenLayersSpec):
    """A layer reads what is below it."""

    kind: Literal["nothing"] = "nothing"

    def build(self, width: int) -> None:
        return None


class ExpertsSpec(BetweenLayersSpec):
    """`active` of `experts` networks of one hidden layer read each position; their answers are mixed by the gate."""

    kind: Literal["experts"] = "experts"
    experts: Size = 16
    active: Size = 4  # the paper's k; of groups and then of a group's experts, where there are groups
    groups: Size = 1  # in which experts are chosen in two steps: first groups, then experts of each (appendix B)
    hidden: Size = 1024
    noise: bool = True  # on the gate while learning: without it, experts that are not chosen at first never are
    importance: NotNegative = 0.1  # weights of the costs that keep the experts equally important ...
    load: NotNegative = 0.1  # ... and equally busy

    def faults(self) -> list[tuple[str, str]]:
        if self.groups < 1 or self.experts % self.groups:
            return [("groups", f"{self.experts} experts do not divide into {self.groups} groups.")]
        least = self.experts if self.groups == 1 else min(self.groups, self.experts // self.groups)
        if 1 <= self.active <= least:
            return []
        whom = "experts" if self.groups == 1 else f"groups of {self.experts // self.groups} experts"
        of = self.experts if self.groups == 1 else self.groups
        return [("active", f"{self.active} of {of} {whom} cannot be active: give 1 to {least}.")]

    def build(self, width: int) -> Experts:
        return Experts(self, width)

    def feedforward(self, stack: StackSpec, number: int) -> Experts:
        """In the place of the feed-forward network of a Transformer block."""
        made = Experts(self, stack.width)
        for part in made.modules():
            if isinstance(part, (Experts, Gate, GroupedGate)):
                part.settle()
        return made

    def unfit(self, stack: StackSpec) -> list[tuple[str, str]]:
        return []

    def without_chance(self) -> Self:
        return self.model_copy(update={"noise": False, "importance": 0.0, "load": 0.0})


class RoutedExperts(NamedTuple):
    experts: Tensor  # [positions, active]
    shares: Tensor  # [positions, active], which sum to one
    load: Tensor | None  # [experts], the smooth number of positions that each reads


class Gate(nn.Module):
    """Noisy top-k (section 2.1 and appendix A)."""

    def __init__(self, width: int, experts: int, active: int, noise: bool):
        super().__init__()
        self.experts, self.active = experts, active
        self.clean = nn.Linear(width, experts, bias=False)
        self.noise = nn.Linear(width, experts, bias=False) if noise else None

    def settle(self) -> None:
        """All experts alike at first: noise chooses among them."""
        for part in (self.clean, self.noise):
            if part is not None:
                nn.init.zeros_(part.weight)

    def forward(self, x: Tensor) -> RoutedExperts:
        """x [positions, width]"""
        clean = scores = self.clean(x)
        noisy = self.noise is not None and self.training
        if noisy:
            deviation = F.softplus(self.noise(x)) + 1e-6  # type: ignore[misc]
            scores = clean + torch.randn_like(clean) * deviation
        some = min(self.active + 1, self.experts)
        values, order = scores.topk(some, -1)
        shares = values[:, : self.active].softmax(-1)
        load = None
        if noisy and self.active < self.experts:
            load = self.chance(clean, scores, values, deviation).sum(0)
        return RoutedExperts(order[:, : self.active], shares, load)

    def chance(self, clean: Tensor, scores: Tensor, values: Tensor, deviation: Tensor) -> Tensor:
        """Of each expert to be chosen if its own noise were drawn again: to exceed the k-th largest of the others (eq. 9)."""
        among, outside = values[:, self.active - 1 : self.active], values[:, self.active : self.active + 1]
        others = torch.where(scores >= among, outside, among)  # without itself, one that is chosen has to beat the next
        return torch.special.ndtr((clean - others) / deviation)


class GroupedGate(nn.Module):
    """A gate among groups, and one among the experts of each: shares are products, and so is the load (eq. 12-14)."""

    def __init__(self, width: int, spec: ExpertsSpec):
        super().__init__()
        self.each = spec.experts // spec.groups
        self.first = Gate(width, spec.groups, spec.active, spec.noise)
        self.second: Any = nn.ModuleList([Gate(width, self.each, spec.active, spec.noise) for _ in range(spec.groups)])

    def settle(self) -> None:
        """Its gates settle themselves."""

    def forward(self, x: Tensor) -> RoutedExperts:
        groups, active = self.first(x), self.first.active
        experts = x.new_zeros(len(x), active, active, dtype=torch.int64)
        shares, loads = x.new_zeros(len(x), active, active), []
        for number, gate in enumerate(self.second):
            rows, places = (groups.experts == number).nonzero(as_tuple=True)
            chosen = gate(x[rows])
            experts[rows, places] = chosen.experts + number * self.each
            shares = shares.index_put((rows, places), chosen.shares * groups.shares[rows, places][:, None])
            if groups.load is not None and chosen.load is not None:
                loads.append(chosen.load * groups.load[number] / max(len(rows), 1))
        return RoutedExperts(experts.flatten(1), shares.flatten(1), torch.cat(loads) if loads else None)


class Experts(nn.Module):
    def __init__(self, spec: ExpertsSpec, width: int):
        super().__init__()
        self.spec, self.active = spec, spec.active if spec.groups == 1 else spec.active**2  # for each position
        self.gate: Any = (
            Gate(width, spec.experts, spec.active, spec.noise) if spec.groups == 1 else GroupedGate(width, spec)
        )
        self.inner = nn.Parameter(torch.empty(spec.experts, width, spec.hidden))
        self.outer = nn.Parameter(torch.empty(spec.experts, spec.hidden, width))
        self.costs: dict[str, Tensor] = {}  # of the last call

    def settle(self) -> None:
        for weight in (self.inner, self.outer):
            span = (3 / weight.size(1)) ** 0.5
            nn.init.uniform_(weight, -span, span)

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] -> the same; the cost of balance is left in `costs`."""
        rows = x.reshape(-1, x.size(-1))
        if (
            type(x).__name__ == "FakeTensor"
        ):  # a plan asks for sizes; who reads what depends on numbers that are not there
            return self.as_large(rows).view_as(x)
        chosen = self.gate(rows)
        self.costs = self.balance(chosen)
        return self.mixed(rows, chosen).view_as(x)

    def mixed(self, rows: Tensor, chosen: RoutedExperts) -> Tensor:
        """Every expert reads its positions together: positions times `active` rows in all."""
        order = chosen.experts.flatten().argsort(stable=True)
        positions = order // self.active
        sizes = torch.bincount(chosen.experts.flatten(), minlength=self.spec.experts).tolist()
        made = [
            (some @ inner).relu() @ outer
            for some, inner, outer in zip(rows[positions].split(sizes), self.inner.unbind(0), self.outer.unbind(0))
            if len(some)
        ]
        weighed = torch.cat(made) * chosen.shares.flatten()[order][:, None]
        return torch.zeros_like(rows).index_add(0, positions, weighed)

    def as_large(self, rows: Tensor) -> Tensor:
        """Something that takes as much memory: the first expert reads every position, as often as several would."""
        made = (rows.repeat_interleave(self.active, 0) @ self.inner[0]).relu() @ self.outer[0]
        return made.view(len(rows), self.active, -1).sum(1)

    def balance(self, chosen: RoutedExperts) -> dict[str, Tensor]:
        if not self.training:
            return {}
        importance = chosen.shares.new_zeros(self.spec.experts)
        importance = importance.index_add(0, chosen.experts.flatten(), chosen.shares.flatten())
        costs = {"importance": self.spec.importance * variation(importance)} if self.spec.importance else {}
        if self.spec.load and chosen.load is not None:
            costs["load"] = self.spec.load * variation(chosen.load)
        return costs


def variation(x: Tensor) -> Tensor:
    """The squared coefficient of variation: variance, of all of them, over the square of the mean."""
    return x.var(correction=0) / x.mean().square().clamp(min=1e-10)
