"""What a layer costs as the text doubles, and over how many layers the ends of a text meet (Vaswani et al. 2017, table 1).

Multiplications are counted as torch does them, not by formula; reach is a derivative that is not zero. The recurrent layer
reaches everything in one layer, after as many steps, one behind the other, as there are positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.race import Work, race
from foreword.parts.separable import _convolved
from foreword.parts.visible import BandedPattern, CausalPattern

WIDTH, HEADS, WINDOW, KERNEL = 128, 4, 32, 3
LENGTHS = (128, 256, 512, 1024)
Layer = Callable[[Tensor], Tensor]  # [1, positions, width] -> the same


class Convolution(nn.Module):
    """Every position sees itself and those right before it; `separable`: numbers apart, then positions apart."""

    def __init__(self, separable: bool):
        super().__init__()
        self.over = nn.Conv1d(WIDTH, WIDTH, KERNEL, groups=WIDTH if separable else 1)
        self.across = nn.Linear(WIDTH, WIDTH) if separable else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.across(_convolved(self.over, x, None, ahead=False))


def made() -> dict[str, Layer]:
    """Of attention its core alone: products of queries and keys, and the mean of values."""
    torch.manual_seed(0)

    def attention(pattern: CausalPattern | BandedPattern) -> Layer:
        def layer(x: Tensor) -> Tensor:
            parts = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            return pattern.attend(parts, parts, parts, None).transpose(1, 2).flatten(2)

        return layer

    cell = nn.RNNCell(WIDTH, WIDTH)

    def recurrent(x: Tensor) -> Tensor:
        hidden, found = x.new_zeros(len(x), WIDTH), []
        for position in x.unbind(1):
            hidden = cell(position, hidden)
            found.append(hidden)
        return torch.stack(found, 1)

    return {
        "full attention": attention(CausalPattern()),
        "restricted attention": attention(BandedPattern(WINDOW)),
        "recurrent": recurrent,
        "convolutional": Convolution(separable=False),
        "separable": Convolution(separable=True),
    }


def multiplications(layer: Layer, length: int) -> int:
    x = torch.randn(1, length, WIDTH)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        layer(x)
    return counter.get_total_flops() // 2


def layers_between(layer: Layer, length: int) -> int:
    """Layers until the first position shows in the last."""
    for layers in range(1, length + 1):
        x = torch.randn(1, length, WIDTH, dtype=torch.float32, requires_grad=True)
        y = x
        for _ in range(layers):
            y = layer(y)
        (slope,) = torch.autograd.grad(y[0, -1].sum(), x)
        if slope[0, 0].abs().max() > 0:
            return layers
    return length


def work(layer: Layer, length: int) -> Work:
    x = torch.randn(1, length, WIDTH)

    @torch.no_grad()
    def run() -> Tensor:
        return layer(x)

    return run


def measure(lengths: tuple[int, ...] = LENGTHS, rounds: int = 3, seconds: float = 0.2) -> dict[str, dict[str, Any]]:
    layers = made()
    works = {f"{name} {n}": work(layer, n) for name, layer in layers.items() for n in lengths}
    times = race(works, rounds, seconds)
    return {
        name: {
            "multiplications": {n: multiplications(layer, n) for n in lengths},
            "seconds": {n: times[f"{name} {n}"].core for n in lengths},
            "layers": 1 if name == "recurrent" else layers_between(layer, 64),
        }
        for name, layer in layers.items()
    }


def report() -> str:
    found = measure()
    short, long = LENGTHS[-2:]
    lines = [f"width {WIDTH}, window {WINDOW}, kernel {KERNEL}, forward, {torch.get_num_threads()} threads"]
    for name, one in found.items():
        counts, times = one["multiplications"], one["seconds"]
        steps = "64 steps in a row" if name == "recurrent" else f"{one['layers']} layers"
        lines.append(
            f"{name:20} {short} -> {long}: {counts[long] / counts[short]:.2f} times the multiplications, "
            f"{times[long] / times[short]:.2f} times the time; the ends of 64 positions meet after {steps}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
