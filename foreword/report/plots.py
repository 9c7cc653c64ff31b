"""Drawings that several reports need, as SVG. Matplotlib is imported here alone, and only when something is drawn."""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

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


def svg(plot: Plot) -> str:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "foreword"})
    figure, axes = pyplot.subplots(figsize=(7.6, plot.height), layout="constrained")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    plot.draw(axes)
    axes.set(xlabel=plot.xlabel, ylabel=plot.ylabel)
    if axes.get_legend_handles_labels()[0]:  # something drawn has a name
        axes.legend(frameon=False)
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # text stays text: who shows the page has the fonts
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    pyplot.close(figure)
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)  # links to nowhere we need
    return drawn[drawn.index("<svg") :]


def bars(values: Mapping[str, float], xlabel: str, highlight: str = "", note: str = "") -> Plot:
    """One bar below the other, the smallest value at the top."""

    def draw(axes: Axes) -> None:
        ordered = sorted(values.items(), key=lambda item: -item[1])
        numbers = [value for _, value in ordered]
        names, colours = zip(*((name, ORANGE if name == highlight else BLUE) for name, _ in ordered))
        drawn = axes.barh(names, numbers, height=0.68, color=colours)
        axes.bar_label(drawn, labels=[f"{value:.3f}" for value in numbers], padding=4, fontsize=9)
        axes.set_xlim(0, max(numbers) * 1.12)

    return Plot(0.42 * len(values) + 0.9, draw, note, xlabel)


def columns(bins: Sequence[tuple[str, int, float]], xlabel: str, ylabel: str, note: str = "") -> Plot:
    """(name, how many, share) of each bin: a column as high as the share in percent, the number above it."""

    def draw(axes: Axes) -> None:
        drawn = axes.bar([name for name, _, _ in bins], [100 * share for _, _, share in bins], color=BLUE, width=0.7)
        axes.bar_label(drawn, labels=[f"{count:,}" for _, count, _ in bins], padding=3, fontsize=9)
        axes.set_ylim(0, 108)

    return Plot(3.4, draw, note, xlabel, ylabel)


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
            marker = "o" if len(points) < 30 else None
            axes.plot(*zip(*points), color=colour, linewidth=1.4, marker=marker, markersize=4, label=name or None)
        for level in levels:
            axes.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
        axes.set_title(title, fontsize=11, loc="left")

    return Plot(height, draw, "", xlabel, ylabel)


def confusion(true: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """[true, predicted] counts."""
    place = {label: number for number, label in enumerate(labels)}
    found = np.zeros((len(place), len(place)), np.int64)
    for one, other in zip(true, predicted, strict=True):
        if other in place:  # a text that was written may be no label at all
            found[place[one], place[other]] += 1
    return found


def confusion_matrix(counts: np.ndarray, labels: Sequence[str], note: str = "") -> Plot:
    """Counts [true, predicted], darker where more of the row is."""

    def draw(axes: Axes) -> None:
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        axes.imshow(shares, cmap="Oranges", vmin=0, vmax=1.2, aspect="auto")
        for (row, column), count in np.ndenumerate(counts) if len(labels) <= READABLE else ():
            axes.text(column, row, str(count), ha="center", va="center", fontsize=9)
        axes.set_xticks(range(len(labels)), labels, rotation=45 if len(labels) > 6 else 0)
        axes.set_yticks(range(len(labels)), labels)

    return Plot(1.4 + 0.42 * len(labels), draw, note, "predicted", "true")


def heat_map(weights: np.ndarray, rows: Sequence[str], columns: Sequence[str], title: str = "") -> Plot:
    """Numbers from 0 to 1 [rows, columns], darker where they are large."""

    def draw(axes: Axes) -> None:
        axes.imshow(weights, cmap="Oranges", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
        axes.set_yticks(range(len(rows)), rows, fontsize=7)
        axes.set_title(title, fontsize=11, loc="left")

    return Plot(1.8 + 0.16 * len(rows), draw)


def token_bars(tokens: Sequence[str], numbers: np.ndarray, title: str = "") -> Plot:
    """A bar over each token, in their order."""

    def draw(axes: Axes) -> None:
        axes.bar(range(len(tokens)), numbers, color=BLUE, width=0.7)
        axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7)
        axes.set_title(title, fontsize=11, loc="left")

    return Plot(3.0, draw)


def scatter(true: Sequence[float], predicted: Sequence[float], note: str = "") -> Plot:
    """A point for each example; dotted: where predictions are right."""

    def draw(axes: Axes) -> None:
        axes.scatter(true, predicted, s=8, alpha=0.5, color=ORANGE)
        axes.plot([min(true), max(true)], [min(true), max(true)], color=GREY, linewidth=0.8, linestyle=":")

    return Plot(4.0, draw, note, "true", "predicted")


class NamedPoint(NamedTuple):
    """A point with its name; those of a group have one colour."""

    x: float
    y: float
    name: str
    group: int = 0


def word_map(
    marks: Sequence[NamedPoint], arrows: Sequence[tuple[int, int]] = (), note: str = "", height: float = 5.6
) -> Plot:
    """Names where their points are; an arrow from one to another."""

    def draw(axes: Axes) -> None:
        for mark in marks:
            axes.scatter(mark.x, mark.y, s=6, color=COLOURS[mark.group % len(COLOURS)])
            axes.annotate(mark.name, (mark.x, mark.y), (2, 2), textcoords="offset points", fontsize=7.5)
        for start, end in arrows:
            there, here = marks[end], marks[start]
            style = {"arrowstyle": "->", "color": GREY, "linewidth": 0.7, "alpha": 0.7}
            axes.annotate("", (there.x, there.y), (here.x, here.y), arrowprops=style)
        axes.set_xticks([])
        axes.set_yticks([])

    return Plot(height, draw, note)


def histograms(groups: Mapping[str, Sequence[float]], xlabel: str, note: str = "") -> Plot:
    """How the numbers of each group are distributed, in percent of the group, over the same bins."""

    def draw(axes: Axes) -> None:
        every = np.concatenate([np.asarray(some, float) for some in groups.values()])
        edges = np.histogram_bin_edges(every, 30).tolist()
        for (name, some), colour in zip(groups.items(), (BLUE, ORANGE, *COLOURS[2:])):
            if len(some):
                axes.hist(some, edges, weights=np.full(len(some), 100 / len(some)), color=colour, alpha=0.6, label=name)

    return Plot(3.4, draw, note, xlabel, "percent of them")
