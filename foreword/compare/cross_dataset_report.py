"""How far what was learned on one labelled set carries to others: a table, a matrix, and a file for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.files import write_json, write_text
from foreword.compare.cross_dataset import Crossed
from foreword.report.plot import as_svg, figure_of_height
from foreword.report.terminal import aligned
from foreword.tasks.judging import Scored
from foreword.transfer.finetune import prediction_record
from foreword.transfer.kinds.base import Answer


def lines(crossed: Sequence[Crossed]) -> Iterator[str]:
    """For the terminal: a line for each set that was asked, and below what was joined. Who was asked stands there if several."""
    several = len({one.name for one in crossed}) > 1
    rows: list[tuple[str, ...]] = [("asked", "learned on", "tested on", "metric", "value", "95% interval", "examples", "balanced",
                                    "commonest", "drop")]
    for one in crossed:
        rows += [(one.name if not number else "", one.learned if not number else "", one.task if not number else "", score.metric,
                  score.shown, between(score), f"{score.count:,}",
                  *(_points(share) if not number else "" for share in (one.balanced, one.commonest, one.drop)))
                 for number, score in enumerate(one.scores)]
    rows = rows if several else [row[1:] for row in rows]
    yield from aligned(rows, left=range(4 if several else 3))
    for labels, where in _joined(crossed).items():
        yield f"{', '.join(where)}: labels joined to {', '.join(labels)}."


def _joined(crossed: Sequence[Crossed]) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for one in crossed:
        if one.joined:
            found.setdefault(one.labels, []).append(f"{one.learned} on {one.task}")
    return {labels: list(dict.fromkeys(where)) for labels, where in found.items()}


def between(one: Scored) -> str:
    return f"{100 * one.interval[0]:.1f} to {100 * one.interval[1]:.1f}"


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def values(crossed: Sequence[Crossed]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [{"model": one.name, "learned": one.learned, "task": one.task, "labels": list(one.labels), "joined": one.joined,
             "metrics": {score.metric: {"value": score.value, "interval": list(score.interval), "count": score.count}
                         for score in one.scores},
             "balanced": one.balanced, "commonest": one.commonest, "drop": one.drop} for one in crossed]


def picture(crossed: Sequence[Crossed]) -> str:
    """Everyone who was asked by every set, as a matrix of the first metric; what was asked at home has a frame. SVG."""
    who, sets = (list(dict.fromkeys(names)) for names in ((_called(one) for one in crossed), (one.task for one in crossed)))
    table = np.full((len(who), len(sets)), np.nan)
    for one in crossed:
        table[who.index(_called(one)), sets.index(one.task)] = one.scores[0].value
    figure, axes = figure_of_height(1.6 + 0.62 * len(who))
    axes.imshow(table, cmap="Oranges", vmin=0, vmax=1.6, aspect="auto")
    for one in crossed:
        row, column = who.index(_called(one)), sets.index(one.task)
        axes.text(column, row, f"{one.scores[0].shown}\n{between(one.scores[0])}", ha="center", va="center", fontsize=9)
        if one.learned == one.task:
            axes.add_patch(_frame(column, row))
    axes.set_xticks(range(len(sets)), sets)
    axes.set_yticks(range(len(who)), who)
    axes.set_xlabel("tested on")
    axes.set_title(f"{', '.join(dict.fromkeys(one.scores[0].metric for one in crossed))}, with 95% intervals; framed: at home",
                   fontsize=11, loc="left")
    return as_svg(figure)


def _called(one: Crossed) -> str:
    return one.name if one.name == one.learned else f"{one.name} (learned on {one.learned})"


def _frame(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle
    return Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, edgecolor="#5b6670", linewidth=1.2)


def save(crossed: Sequence[Crossed], folder: Path) -> None:
    write_json(folder / "crossed.json", values(crossed))
    write_text(folder / "crossed.svg", picture(crossed))


def write_examples(crossed: Sequence[Crossed], path: Path) -> None:
    """Every example on a line: whom and what set it is of, what is right and what was said, each in its own words."""
    write_text(path, "".join(
        json.dumps({"model": one.name, "task": one.task, **prediction_record(example, Answer(said))}, ensure_ascii=False) + "\n"
        for one in crossed for example, said in one.answers))
