"""What scoring a token costs Transformer-XL, which keeps what it made before, and a plain model that reads it all again.

Both see `ATTENTION` positions. The plain one moves its window by one token, so that every token has as much before it (Dai et al.
2019, section 4.6: up to 1,874 times slower at 3,800 positions).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.race import Work, race
from foreword.networks.base import Inputs, Network
from foreword.networks.causal import CausalTransformerSpec
from foreword.networks.segment import SegmentTransformerSpec
from foreword.tokens.vocabulary import Vocabulary

ATTENTION, SEGMENT, ROWS = 512, 128, 4
SIZE = {"layers": 4, "width": 256, "heads": 4}
GOAL = 20.0


def networks(attention: int, **size: int) -> dict[str, Network]:
    torch.manual_seed(0)
    specs = {
        "with memory": SegmentTransformerSpec(memory=attention, **(SIZE | size)),
        "sliding": CausalTransformerSpec(context=attention, **(SIZE | size)),
    }
    return {name: spec.build(Vocabulary(1000, -1, ())).eval() for name, spec in specs.items()}


def works(
    attention: int = ATTENTION, segment: int = SEGMENT, rows: int = ROWS, **size: int
) -> dict[str, tuple[Work, int]]:
    """(one call, the tokens that it scores): a segment whose memory is full, or some windows."""
    made = networks(attention, **size)
    text = torch.randint(1000, (1, attention + segment))
    windows = text[0].unfold(0, attention, 1)[:rows]
    with torch.no_grad():
        memory = made["with memory"](Inputs(text[:, :attention])).state

    @torch.no_grad()
    def goes_on() -> Tensor:
        return made["with memory"](Inputs(text[:, attention:]), memory).last

    @torch.no_grad()
    def slides() -> Tensor:
        return made["sliding"](Inputs(windows)).last[:, -1]

    return {"with memory": (goes_on, segment), "sliding": (slides, rows)}


def multiplications(run: Work, tokens: int) -> float:
    """For each token, by counting."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() / 2 / tokens


def measure(rounds: int = 5, seconds: float = 0.4) -> dict[str, dict[str, Any]]:
    found = works()
    times = race({name: run for name, (run, _) in found.items()}, rounds, seconds)
    return {
        name: {"seconds": times[name].core / tokens, "multiplications": multiplications(run, tokens)}
        for name, (run, tokens) in found.items()
    }


def report() -> str:
    found = measure()
    ours, theirs = found["with memory"], found["sliding"]
    return "\n".join(
        [
            f"{SIZE['layers']} layers of {SIZE['width']}, attention length {ATTENTION}, segments of {SEGMENT}, "
            f"windows {ROWS} at a time, {torch.get_num_threads()} threads",
            *(
                f"{name:12} {one['seconds'] * 1e3:8.3f} ms and {one['multiplications'] / 1e6:9.1f}M multiplications a token"
                for name, one in found.items()
            ),
            f"memory scores {theirs['seconds'] / ours['seconds']:.0f} times as many tokens a second (goal: {GOAL:.0f}) "
            f"with {theirs['multiplications'] / ours['multiplications']:.0f} times fewer multiplications",
        ]
    )


if __name__ == "__main__":
    print(report())
