"""Drawings that several reports need, as SVG. Matplotlib is imported here alone, and only when something is drawn."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from foreword.report.report import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#d9622b", "#4a7c9b", "#6b8f4e", "#8b6ba8", "#b08c2e", "#3f8f86", "#a34a5e", "#7a7f87")
ORANGE, BLUE, *_ = COLOURS
GREY = "#5b6670"
COUNTS = "Counts; darker: more of the row."
READABLE = 30  # rows and columns, above which counts in a matrix cannot be read
Points = Sequence[tuple[float, float]]


def svg(height: float, draw: Callable[[Axes], object]) -> str:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "foreword"})
    figure, axes = pyplot.subplots(figsize=(7.6, height), layout="constrained")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    draw(axes)
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    pyplot.close(figure)
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)  # links to nowhere we need
    return drawn[drawn.index("<svg") :]


def bars(values: Mapping[str, float], xlabel: str, highlight: str = "", note: str = "") -> Plot:
    """One bar below the other, the smallest value at the top."""

    def draw(axes: Axes) -> None:
        ordered = sorted(values.items(), key=lambda item: -item[1])
        numbers = [value for _, value in ordered]
        drawn = axes.barh(
            [name for name, _ in ordered],
            numbers,
            height=0.68,
            color=[ORANGE if name == highlight else BLUE for name, _ in ordered],
        )
        axes.bar_label(drawn, labels=[f"{value:.3f}" for value in numbers], padding=4, fontsize=9)
        axes.set_xlabel(xlabel)
        axes.set_xlim(0, max(numbers) * 1.12)

    return Plot(0.42 * len(values) + 0.9, draw, note)


def columns(bins: Sequence[tuple[str, int, float]], xlabel: str, ylabel: str, note: str = "") -> Plot:
    """(name, how many, share) of each bin: a column as high as the share in percent, the number above it."""

    def draw(axes: Axes) -> None:
        drawn = axes.bar([name for name, _, _ in bins], [100 * share for _, _, share in bins], color=BLUE, width=0.7)
        axes.bar_label(drawn, labels=[f"{count:,}" for _, count, _ in bins], padding=3, fontsize=9)
        axes.set_ylim(0, 108)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)

    return Plot(3.4, draw, note)


def curves(
    lines: Mapping[str, Points],
    xlabel: str,
    ylabel: str = "",
    title: str = "",
    height: float = 2.6,
    levels: Iterable[float] = (),
) -> Plot:
    """A line for each name, with its points where they are few. A line without a name is blue and has no legend.

    `levels`: heights to compare with, dashed.
    """

    def draw(axes: Axes) -> None:
        for (name, points), colour in zip(lines.items(), itertools.cycle(COLOURS if any(lines) else COLOURS[1:])):
            axes.plot(
                *zip(*points),
                color=colour,
                linewidth=1.4,
                marker="o" if len(points) < 30 else None,
                markersize=4,
                label=name or None,
            )
        for level in levels:
            axes.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.set_title(title, fontsize=11, loc="left")
        if any(lines):
            axes.legend(frameon=False)

    return Plot(height, draw)


def confusion(true: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """[true, predicted] counts."""
    place = {label: number for number, label in enumerate(labels)}
    found = np.zeros((len(place), len(place)), np.int64)
    for one, other in zip(true, predicted, strict=True):
        found[place[one], place[other]] += 1
    return found


def confusion_matrix(counts: np.ndarray, labels: Sequence[str], note: str = "") -> Plot:
    """Counts [true, predicted], darker where more of the row is."""

    def draw(axes: Axes) -> None:
        axes.imshow(
            counts / np.maximum(counts.sum(1, keepdims=True), 1), cmap="Oranges", vmin=0, vmax=1.2, aspect="auto"
        )
        for (row, column), count in np.ndenumerate(counts) if len(labels) <= READABLE else ():
            axes.text(column, row, str(count), ha="center", va="center", fontsize=9)
        axes.set_xticks(range(len(labels)), labels, rotation=45 if len(labels) > 6 else 0)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xlabel("predicted")
        axes.set_ylabel("true")

    return Plot(1.4 + 0.42 * len(labels), draw, note)


def scatter(true: Sequence[float], predicted: Sequence[float], note: str = "") -> Plot:
    """A point for each example; dotted: where predictions are right."""

    def draw(axes: Axes) -> None:
        axes.scatter(true, predicted, s=8, alpha=0.5, color=ORANGE)
        axes.plot([min(true), max(true)], [min(true), max(true)], color=GREY, linewidth=0.8, linestyle=":")
        axes.set_xlabel("true")
        axes.set_ylabel("predicted")

    return Plot(4.0, draw, note)


def histograms(groups: Mapping[str, Sequence[float]], xlabel: str, note: str = "") -> Plot:
    """How the numbers of each group are distributed, in percent of the group, over the same bins."""

    def draw(axes: Axes) -> None:
        edges = np.histogram_bin_edges(
            np.concatenate([np.asarray(some, float) for some in groups.values()]), 30
        ).tolist()
        for (name, some), colour in zip(groups.items(), (BLUE, ORANGE, *COLOURS[2:])):
            if len(some):
                axes.hist(some, edges, weights=np.full(len(some), 100 / len(some)), color=colour, alpha=0.6, label=name)
        axes.set_xlabel(xlabel)
        axes.set_ylabel("percent of them")
        axes.legend(frameon=False)

    return Plot(3.4, draw, note)
