"""What was measured, for people: a table in the terminal, and one self-contained page with pictures and plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreword.evaluate.score import Score
from foreword.report.html import render
from foreword.report.plot import as_svg, figure_of_height


def table(scores: dict[str, Score], text: str, weights: dict[str, float] | None = None) -> Iterator[str]:
    """Lines for the terminal: the number, its unit, and what each token was allowed to see."""
    first = next(iter(scores.values()))
    yield f"{text}: {first.documents:,} documents, {first.bytes:,} bytes"
    pseudo = any(score.kind != "likelihood" for score in scores.values())
    width = max(len(name) for name in scores) + 2
    yield f"{'':{width}}{'bits/byte':>10}{'bits/char':>11}{'word ppl':>12}{'token ppl':>12}{'tokens':>12}"
    for name, score in scores.items():
        cells = (_cell(score.bits_per_byte, 4, 10), _cell(score.bits_per_character, 4, 11), _cell(score.word_perplexity, 1, 12),
                 _cell(score.perplexity, 2, 12), f"{score.tokens:>12,}")
        yield f"{name:{width}}{''.join(cells)}"
    if pseudo:
        yield "PSEUDO-LIKELIHOOD: tokens guessed from both sides. Not a probability of the text; never compare it with one."
    if not first.lossless:
        lost = f" ({first.unknown:,} unknown tokens)" if first.unknown else ""
        yield (f"The tokenizer loses part of the text{lost}: bits per byte of the original text would flatter it, "
               "so they are not given.")
    if weights:
        yield "mixture = " + " + ".join(f"{weight:.3f} {name}" for name, weight in weights.items())
    for policy in dict.fromkeys(score.policy for score in scores.values()):
        yield f"context: {policy}"


def precision_costs(scores: dict[str, Score], names: Sequence[str], precision: str) -> dict[str, dict[str, Any]]:
    """What a coarser precision costs each model: bits per byte, or per token where its tokenizer loses text."""
    found = {}
    for name in names:
        fine, coarse = scores[name], scores[f"{name}, {precision}"]
        if fine.bits_per_byte is not None and coarse.bits_per_byte is not None:
            found[name] = {"cost": coarse.bits_per_byte - fine.bits_per_byte, "unit": "bits per byte"}
        else:
            found[name] = {"cost": coarse.bits_per_token - fine.bits_per_token, "unit": "bits per token"}
    return found


def _cell(value: float | None, digits: int, width: int) -> str:
    if value is None:
        return f"{'-':>{width}}"
    written = f"{value:,.{digits}f}" if math.isfinite(value) else "infinite"
    return f"{written if len(written) < width else f'{value:.2e}':>{width}}"        # columns never touch


@dataclass
class Page:
    """Everything the report page shows."""

    title: str
    lead: list[str]                                     # what won and what it means, in words
    scores: dict[str, Score]
    curves: dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]] = field(default_factory=dict)   # train, valid
    samples: list[tuple[str, str, str]] = field(default_factory=list)       # model, prompt, text
    facts: list[tuple[str, str]] = field(default_factory=list)
    settings: str = ""
    highlight: str = ""


def write_page(page: Page, path: Path) -> None:
    """One HTML file that needs nothing else."""
    ordered = sorted(page.scores.items(), key=lambda item: item[1].bits_per_byte or 0.0)
    curves = [curve(name, *lines) for name, lines in page.curves.items()]
    policies: dict[str, list[str]] = {}
    for name, score in ordered:
        policies.setdefault(score.policy, []).append(name)
    render("report.html", path, page=page, ordered=ordered, bars=bars(page), curves=curves, policies=policies)


def bars(page: Page) -> str:
    """Bits per byte of every model, best at the top."""
    figure, axes = figure_of_height(0.42 * len(page.scores) + 0.9)
    ordered = sorted(page.scores.items(), key=lambda item: -(item[1].bits_per_byte or 0.0))
    values = [score.bits_per_byte or 0.0 for _, score in ordered]
    colours = ["#d9622b" if name == page.highlight else "#4a7c9b" for name, _ in ordered]
    drawn = axes.barh([name for name, _ in ordered], values, color=colours, height=0.68)
    axes.bar_label(drawn, labels=[f"{value:.3f}" for value in values], padding=4, fontsize=9)
    axes.set_xlabel("bits per byte of held-out text (shorter is better)")
    axes.set_xlim(0, max(values) * 1.12)
    return as_svg(figure)


def curve(name: str, train: Sequence[tuple[float, float]], valid: Sequence[tuple[float, float]]) -> str:
    figure, axes = figure_of_height(3.1)
    train, valid = ([(tokens / 1e6, nats) for tokens, nats in line] for line in (train, valid))
    axes.plot(*zip(*train), color="#4a7c9b", linewidth=1.1, label="training text")
    if valid:
        axes.plot(*zip(*valid), color="#d9622b", marker="o", markersize=4, linewidth=1.6, label="held-out text")
    axes.set_xlabel("million tokens seen")
    axes.set_ylabel("nats per token")
    axes.set_title(name, fontsize=11, loc="left")
    axes.legend(frameon=False)
    return as_svg(figure)
