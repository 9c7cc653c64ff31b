"""Peak memory of training GPT-2 124M at 512 positions, batch 8: ours beside plain `transformers`. Goal: at most 0.60."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks import peers, train
from benchmarks.race import resident
from benchmarks.shapes import SHAPES

SHAPE = replace(SHAPES["124m"], batch=8)
STEPS = 2  # the optimizer's memory is there from the first step on, beside the activations in the second
WAYS: dict[str, Callable[[], Callable[[], object]]] = {
    "ours": lambda: train.ours(SHAPE),
    "transformers": lambda: peers.hugging_face(SHAPE, best=False),
}


def peak(way: str) -> int:
    """Bytes on top of what the imports take; meant for a process of its own."""
    if way == "transformers":
        import transformers

        assert transformers.GPT2LMHeadModel  # imported when first asked for
    before = resident("VmRSS")
    step = WAYS[way]()
    for _ in range(STEPS):
        step()
    return resident("VmHWM") - before


def measure() -> dict[str, int]:
    return {
        way: int(
            subprocess.run(
                [sys.executable, "-m", "benchmarks.memory", way],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parent.parent,
            ).stdout
        )
        for way in WAYS
    }


def report() -> str:
    found = measure()
    lines = [
        f"{way:14} {size / 1e9:.2f} GB at the peak of {STEPS} steps, without imports" for way, size in found.items()
    ]
    ratio = found["ours"] / found["transformers"]
    return "\n".join([str(SHAPE), *lines, f"ours / transformers {ratio:.2f} (goal: at most 0.60)"])


if __name__ == "__main__":
    print(peak(sys.argv[1]) if len(sys.argv) > 1 else report())
