"""Attention itself as the context doubles: a dense layer's cost should quadruple, a banded one's stay below three times.

Queries, keys and values as a network makes them, forward and backward, so much of them that the arithmetic is what takes
the time. The memory is what is kept for the way back; torch's own kernel keeps no square for a dense layer either.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.race import Work, race
from foreword.parts.visible import BandedPattern, CausalPattern, Pattern

HEADS, SIZE, WINDOW = 8, 64, 256
LENGTHS = (1024, 2048, 4096, 8192)
PATTERNS: dict[str, Pattern] = {"dense": CausalPattern(), f"banded, window {WINDOW}": BandedPattern(WINDOW)}
GOAL = 3.0


def work(pattern: Pattern, length: int) -> Work:
    """One forward and backward pass of one row."""
    torch.manual_seed(0)
    parts = [torch.randn(1, length, HEADS, SIZE).transpose(1, 2).requires_grad_() for _ in range(3)]

    def run() -> Tensor:
        for part in parts:
            part.grad = None
        q, k, v = parts
        made = pattern.attend(q, k, v, None)
        made.backward(torch.ones_like(made))
        return made

    return run


def kept(run: Work) -> int:
    """Bytes that the way forward keeps for the way back."""
    seen: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        run()
    return sum(seen.values())


def measure(lengths: tuple[int, ...] = LENGTHS, rounds: int = 5, seconds: float = 0.4) -> dict[str, Any]:
    works = {(name, length): work(pattern, length) for name, pattern in PATTERNS.items() for length in lengths}
    times = race({f"{name} {length}": each for (name, length), each in works.items()}, rounds, seconds)
    return {
        name: {
            length: {"seconds": times[f"{name} {length}"].best, "bytes": kept(works[name, length])}
            for length in lengths
        }
        for name in PATTERNS
    }


def report() -> str:
    found = measure()
    lines = [f"{HEADS} heads of {SIZE}, one row, forward and backward, {torch.get_num_threads()} threads"]
    for name, by_length in found.items():
        lengths = list(by_length)
        lines += [
            f"{name:20} {length:5} positions  {by_length[length]['seconds'] * 1e3:8.1f} ms "
            f"{by_length[length]['bytes'] / 1e6:7.1f} MB"
            for length in lengths
        ]
        for short, long in zip(lengths, lengths[1:]):
            more = {what: by_length[long][what] / by_length[short][what] for what in ("seconds", "bytes")}
            goal = f" (goal: under {GOAL:.0f})" if name != "dense" else ""
            lines.append(
                f"{name:20} {short} -> {long}: {more['seconds']:.2f} times the time{goal}, "
                f"{more['bytes']:.2f} times the memory kept"
            )
    dense, banded = found.values()
    lines += [
        f"dense / banded at {length}: {dense[length]['seconds'] / banded[length]['seconds']:.2f} times the time"
        for length in LENGTHS
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
