"""Plots as SVG. Matplotlib is imported here alone, and only when something is drawn."""

from __future__ import annotations

import io
import re
from typing import Any

COLOURS = ("#d9622b", "#4a7c9b", "#6b8f4e", "#8b6ba8", "#b08c2e", "#3f8f86", "#a34a5e", "#7a7f87")


def figure_of_height(height: float) -> tuple[Any, Any]:
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "foreword"})
    figure, axes = pyplot.subplots(figsize=(7.6, height), layout="constrained")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def as_svg(figure: Any) -> str:
    from matplotlib import pyplot
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    pyplot.close(figure)
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)        # links to nowhere we need
    return drawn[drawn.index("<svg"):]
