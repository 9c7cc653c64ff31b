"""Where each head of each layer looks while a text is read, and how many steps a Universal Transformer takes over each token."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import Tensor

from foreword.networks.base import Inputs, Network
from foreword.networks.prefix import PrefixTransformer
from foreword.parts.attention import Attention
from foreword.parts.depth import Halting, RecurringDepth
from foreword.report import Report, Section, Table, plots
from foreword.report.report import Plot

Side = Literal["source", "text", "from text to source"]


@dataclass(frozen=True)
class AttentionMap:
    """One layer, and of layers that are gone through again one step."""

    side: Side  # what looks at what; "text" is all there is, or what is written from a source
    layer: int  # the first is 1
    step: int  # the first is 1
    weights: np.ndarray  # [heads, queries, keys]; each query's sum to 1
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.side}, layer {self.layer}" + (f", step {self.step}" if self.step else "")

    def entropy(self) -> np.ndarray:
        """Of each head, in bits, the mean over queries: 0 for a head that looks at one place."""
        logs = np.log2(self.weights, out=np.zeros_like(self.weights), where=self.weights > 0)
        return -(self.weights * logs).sum(-1).mean(-1)


@dataclass(frozen=True)
class PonderTime:
    """How many steps each token took."""

    side: Side
    tokens: tuple[str, ...]
    steps: np.ndarray  # [tokens]


@dataclass(frozen=True)
class Attended:
    maps: tuple[AttentionMap, ...]
    times: tuple[PonderTime, ...]


@contextmanager
def _watched(parts: Sequence[Attention | RecurringDepth]) -> Iterator[None]:
    for part in parts:
        part.shown = []
    try:
        yield
    finally:
        for part in parts:
            part.shown = None


def attended(
    network: Network, inputs: Inputs, text: Sequence[str], source: Sequence[str] = (), writes: Sequence[str] = ()
) -> Attended:
    """What a network looks at in one row. `text`: the tokens of its ids, `source`: those of its source.

    `writes`: what each position of the text writes, by which it is then called where it looks.
    """
    found = {
        name: part
        for name, part in network.named_modules()
        if isinstance(part, (Attention, RecurringDepth)) and not name.startswith("generator.")
    }
    maps: list[AttentionMap] = []
    times: list[PonderTime] = []
    if inputs.source is not None and isinstance(network, PrefixTransformer):  # the source stands in the same row
        text, writes = (*source, *text), (*source, *writes) if writes else ()
    with _watched(list(found.values())):
        network(inputs)
        for name, part in found.items():
            side: Side = "source" if name.startswith("encoder") else "text"
            read = [one.steps if isinstance(one, Halting) else one for one in part.shown or ()]
            own = _named(read, tuple(source)) if side == "source" else tuple(text)
            asks = own if side == "source" or not writes else tuple(writes)
            if isinstance(part, RecurringDepth):
                times += [PonderTime(side, asks, steps[0].cpu().numpy()) for steps in read]
                continue
            if name.endswith("cross"):
                side = "from text to source"
            keys = _named(read, tuple(source)) if name.endswith("cross") else own
            layer = int(re.findall(r"\d+", name)[-1]) + 1
            seen = [one[0, ..., one.size(-1) - len(keys) :].float().cpu().numpy() for one in read]
            again = len(seen) > 1
            maps += [AttentionMap(side, layer, n * again, one, asks, keys) for n, one in enumerate(seen, 1)]
    return Attended(tuple(maps), tuple(times))


def _named(read: Sequence[Tensor], words: tuple[str, ...]) -> tuple[str, ...]:
    """The names of what was read: its words, or numbers where several words were read as one."""
    size = min((one.size(-1) for one in read), default=len(words))
    return words if size >= len(words) else tuple(f"sentence {n}" for n in range(1, size + 1))


def pictures(found: Attended, layers: Sequence[int] = (), heads: Sequence[int] = ()) -> dict[str, Plot]:
    """By file name, a picture of each chosen layer: of each chosen head, or of the mean of all."""
    made = {}
    for one in found.maps:
        if layers and one.layer not in layers:
            continue
        chosen = {f", head {n}": one.weights[n - 1] for n in heads} or {", mean of all heads": one.weights.mean(0)}
        for head, weights in chosen.items():
            made[f"{one.name}{head}"] = plots.heat_map(weights, one.queries, one.keys, f"{one.name}{head}")
    for time in found.times:
        title = f"steps of each token, {time.side}"
        made[title] = plots.token_bars(time.tokens, time.steps, title)
    return {re.sub(r"\W+", "-", name).strip("-"): plot for name, plot in made.items()}


def report(name: str, found: Attended, drawn: dict[str, Plot]) -> Report:
    """A table of how sharply each head looks, and the pictures."""
    records = [
        {"who looks": one.name, **{f"head {n}": f"{bits:.2f}" for n, bits in enumerate(one.entropy(), 1)}}
        for one in found.maps
    ]
    thought = [
        {"steps": time.side, "mean": f"{time.steps.mean():.2f}", "most": f"{time.steps.max():.0f}"}
        for time in found.times
    ]
    sections = [
        Section("How sharply each head looks", Table.of(records, caption="Entropy in bits; 0: one place.")),
        *([Section("How long it thinks", Table.of(thought))] if thought else []),
        Section("Where it looks", *drawn.values()),
    ]
    return Report(f"Attention of {name}", [], sections)
