"""LAMB against the paper's equations, in float64."""

from __future__ import annotations

import pytest
import torch

from foreword.parts.attention import StackedLinear
from foreword.training.lamb import Lamb


def reference(weights, slopes, rate, betas, epsilon, decay):
    """You et al. 2020, algorithm 2: one layer; `decay` None: a vector, for which the authors' code takes Adam's step."""
    m = v = torch.zeros_like(weights)
    x = weights.clone()
    for t, g in enumerate(slopes, 1):
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        r = (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + epsilon)
        if decay is None:
            x = x - rate * r
        else:
            step = r + decay * x
            x = x - rate * (x.norm() / step.norm()) * step
    return x


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.plain, self.stacked = torch.nn.Linear(5, 4), StackedLinear(4, 3, 3)


def trained(slopes, **settings):
    torch.manual_seed(0)
    model = Small().double()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    (optimizer,) = Lamb(learning_rate=0.1, **settings).build(model)
    for each in slopes:
        for name, weight in model.named_parameters():
            weight.grad = each[name].clone()
        optimizer.step()
    return before, dict(model.named_parameters())


@pytest.fixture
def slopes():
    torch.manual_seed(1)
    return [{name: torch.randn_like(p) for name, p in Small().double().named_parameters()} for _ in range(7)]


def test_it_is_the_papers_algorithm(slopes):
    before, after = trained(slopes, betas=(0.8, 0.95), epsilon=1e-6, weight_decay=0.02)
    for name, weight in after.items():
        each = [one[name] for one in slopes]
        decay = 0.02 if weight.dim() > 1 else None
        pieces = 3 if name == "stacked.weight" else 1
        expected = torch.cat(
            [
                reference(part, [one.chunk(pieces)[at] for one in each], 0.1, (0.8, 0.95), 1e-6, decay)
                for at, part in enumerate(before[name].chunk(pieces))
            ]
        )
        assert torch.allclose(weight, expected, atol=1e-12), name


def test_queries_keys_and_values_are_three_layers(slopes):
    """The control: taken as one layer, their matrix moves otherwise."""
    before, after = trained(slopes, weight_decay=0.02)
    whole = reference(
        before["stacked.weight"], [one["stacked.weight"] for one in slopes], 0.1, (0.9, 0.999), 1e-6, 0.02
    )
    assert not torch.allclose(after["stacked.weight"], whole, atol=1e-6)


def test_a_step_is_as_long_as_the_layer_whatever_the_slope(slopes):
    for size in (1e-4, 1.0, 1e4):
        before, after = trained([{name: size * g for name, g in slopes[0].items()}], epsilon=1e-12)
        moved = (after["plain.weight"] - before["plain.weight"]).norm()
        assert float(moved / before["plain.weight"].norm()) == pytest.approx(0.1, rel=1e-6)


def test_weights_of_zero_take_adams_step(slopes):
    model = Small().double()
    with torch.no_grad():
        model.plain.weight.zero_()
    (optimizer,) = Lamb(learning_rate=0.1, epsilon=1e-12).build(model)
    model.plain.weight.grad = slopes[0]["plain.weight"]
    optimizer.step()
    assert torch.allclose(model.plain.weight.detach().abs(), torch.tensor(0.1, dtype=torch.float64), atol=1e-8)
