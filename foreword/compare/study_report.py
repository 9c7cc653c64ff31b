"""What fine-tuning with several seeds found: a table, a page with pictures and plain words, and a file for programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.files import write_json
from foreword.compare.significance import Apart, Row
from foreword.compare.study import Study
from foreword.report.html import render
from foreword.report.plot import COLOURS, as_svg, figure_of_height
from foreword.report.terminal import aligned
from foreword.tasks.judging import METRICS
from foreword.tasks.metrics import Interval, finite
from foreword.transfer import answers_report as answered
from foreword.transfer.finetune import FEW
from foreword.transfer.label_subset import label_subset

EXACT = 1e-9            # sums of shares are not exact: less than this is zero
HEAD = ("model", "labels", "rate", "batch", "seeds", "dev", "test", "sd", "min", "max", "95% (seeds)", "95% (examples)",
        "collapsed")


class Shown:
    """Numbers as the task's metric writes them."""

    def __init__(self, study: Study):
        self.metric = METRICS[study.metric](study.task.labels).metric

    def number(self, value: float) -> str:
        return self.metric.shown(value) if math.isfinite(value) else "-"

    def signed(self, value: float) -> str:
        return ("+" if value >= 0 else "-") + self.metric.shown(abs(value)) if math.isfinite(value) else "-"

    def between(self, bounds: Interval, signed: bool = False) -> str:
        write = self.signed if signed else self.number
        return f"{write(bounds[0])} to {write(bounds[1])}" if math.isfinite(bounds[0]) else "-"


def rows(study: Study) -> list[tuple[str, ...]]:
    shown, found = Shown(study), [HEAD]
    for row in study.rows:
        tuned = row.tries[0].run is not None
        tests = [shown.number(one) for one in (row.test, row.spread, min(row.tests), max(row.tests))] if row.chosen else ["-"] * 4
        bounds = [shown.between(one) for one in (row.over_seeds, row.over_examples)] if row.chosen else ["-"] * 2
        found.append((row.name, str(row.labels or "all"), f"{row.rate:.2g}" if row.rate else "-", str(row.batch or "-"),
                      str(len(row.tries)), shown.number(row.dev), *tests, *bounds,
                      _lost(row) if tuned else "-"))                                 # type: ignore[arg-type]
    return found                                                                     # type: ignore[return-value]


def _lost(row: Row) -> str:
    return f"{row.collapsed} of {len(row.tries)}" + (f" ({row.diverged} diverged)" if row.diverged else "")


def differences(study: Study) -> list[tuple[str, ...]]:
    shown = Shown(study)
    found: list[tuple[str, ...]] = [("labels", "model", "minus", "difference", "95% (seeds)", "95% (examples)", "seed by seed")]
    for one in study.apart:
        found.append((str(one.labels or "all"), one.name, one.minus, shown.signed(one.mean), shown.between(one.over_seeds, True),
                      shown.between(one.over_examples, True), " ".join(shown.signed(each) for each in one.each)))
    return found


def table(study: Study) -> Iterator[str]:
    """For the terminal."""
    yield f"{study.task.name}: {study.metric}, mean over seeds"
    yield from aligned(rows(study), left=(0,))
    if study.apart:
        yield ""
        yield from aligned(differences(study), left=(1, 2, 6))
    yield ""
    yield from words(study)


def words(study: Study) -> list[str]:
    """What the numbers say, and which of it can be trusted."""
    kept = [f"The best run on dev is {study.kept}: only its model was kept."] if study.kept else []
    return [*(_found(study, row) for row in _main(study)), *(_trust(study, one) for one in study.apart), *kept]


def notes(study: Study) -> list[str]:
    """What a reader must know of the numbers."""
    shown, task = Shown(study), study.task
    tuned = [row for row in study.rows if row.tries[0].run]
    said = ["Rate, batch size and weights were chosen on dev; only what dev chose shows its score on test.",
            f"Dev has {_each(_devs(study))} examples, labels that were used too, and test {len(task.test):,}.",
            f"A seed has collapsed if it is not above {_each(study.floors, shown.number)} on dev, "
            "what one answer to everything gets."]
    if any(row.diverged for row in tuned):
        said.append("Seeds whose loss ran away or became no number (diverged) have collapsed; unless a restart saved them, they "
                    "count as one answer to everything.")
    if any(row.labels for row in tuned):
        said.append("Every seed draws its own labels: the spread over seeds is also that.")
    if any(row.collapsed and "-again-" in str(one.run) for row in tuned for one in row.tries):
        said.append("Seeds that collapsed were begun again with other chance: their scores are those of the last run.")
    short = dict.fromkeys(str(row.labels or "all") for row in tuned if max(one.steps for one in row.tries) < FEW)
    if short:
        said.append(f"With {', '.join(short)} labels a run took fewer than {FEW} steps: small data wants more --epochs.")
    if len(tuned[0].tries) < 3:
        said.append("With so few seeds the spread is hardly known: --seeds 5.")
    return said


def _devs(study: Study) -> dict[int | None, int]:
    """How many examples of dev chose, by the number of labels."""
    return {size: len(label_subset(study.task, size, 0).dev) for size in study.floors}


def _each(by_labels: dict[int | None, Any], write: Callable[[Any], str] = "{:,}".format) -> str:
    """'500', or what it is with every number of labels where that differs."""
    said = {size: write(value) for size, value in by_labels.items()}
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{one} (with {size or 'all'} labels)" for size, one in said.items())


def _main(study: Study) -> list[Row]:
    return study.find(study.rows[0].name)


def _found(study: Study, row: Row) -> str:
    shown = Shown(study)
    beside = [f"{other.name} {shown.number(other.test)}" for other in study.rows
              if other.chosen and other.name != row.name and other.labels in (row.labels, None)
              and (other.labels == row.labels or other is study.rows[-1])]
    sure = f" ({shown.between(row.over_seeds)} over seeds)" if len(row.tries) > 1 else ""
    lost = f" {row.collapsed} of {len(row.tries)} seeds collapsed." if row.collapsed else ""
    return (f"With {row.labels or 'all'} labels {row.name} gets {shown.number(row.test)} on test{sure}; "
            f"{', '.join(beside)}.{lost}")


def _trust(study: Study, one: Apart) -> str:
    shown = Shown(study)
    both = [bounds for bounds in (one.over_seeds, one.over_examples) if math.isfinite(bounds[0])]
    beyond = [low > EXACT or high < -EXACT for low, high in both]
    if len(both) < 2:
        verdict = "one seed is too few to trust it."
    elif all(beyond):
        verdict = "it can be trusted, over seeds and over examples."
    elif any(beyond):
        verdict = f"it holds over {'seeds' if beyond[0] else 'examples'} but not over {'examples' if beyond[0] else 'seeds'}."
    else:
        verdict = "it may be chance."
    way = "above" if one.mean >= 0 else "below"
    return f"With {one.labels or 'all'} labels {one.name} is {shown.number(abs(one.mean))} {way} {one.minus}: {verdict}"


def values(study: Study) -> dict[str, Any]:
    """The same for programs."""
    return {
        "task": study.task.name, "metric": study.metric, "kept": str(study.kept) if study.kept else None,
        "by_labels": [{"labels": size, "dev": count, "floor": study.floors[size]}
                      for size, count in _devs(study).items()], "words": words(study), "notes": notes(study),
        "rows": [{"model": row.name, "labels": row.labels, "rate": row.rate, "batch": row.batch, "chosen": row.chosen,
                  "layers": row.layers, "dev": row.dev, "collapsed": row.collapsed, "diverged": row.diverged,
                  **(_tested(row) if row.chosen else {}),
                  "seeds": [{"seed": one.seed, "dev": one.dev, "collapsed": one.collapsed,
                             "run": str(one.run) if one.run else None, **({"test": one.test} if row.chosen else {})}
                            for one in row.tries]} for row in study.rows],
        "apart": [{"labels": one.labels, "model": one.name, "minus": one.minus, "difference": one.mean, "each": list(one.each),
                   "over_seeds": _finite(one.over_seeds), "over_examples": _finite(one.over_examples)} for one in study.apart],
    }


def _tested(row: Row) -> dict[str, Any]:
    return {"test": row.test, "sd": finite(row.spread), "min": min(row.tests), "max": max(row.tests),
            "over_seeds": _finite(row.over_seeds), "over_examples": _finite(row.over_examples)}


def _finite(bounds: Interval) -> list[float | None]:
    return [finite(one) for one in bounds]


# --- pictures -----------------------------------------------------------------------------------------------------------


def curve(study: Study) -> str:
    """Test by the number of labels, every model with its seeds; nothing where there is only one number."""
    if len(_main(study)) < 2:
        return ""
    figure, axes = figure_of_height(4.0)
    scale = 100.0
    names = dict.fromkeys(row.name for row in study.rows[:-1])
    for name, colour in zip(names, itertools.cycle(COLOURS)):
        points = sorted((row.labels or len(study.task.train), row) for row in study.find(name))
        at, some = [place for place, _ in points], [row for _, row in points]
        axes.plot(at, [scale * row.test for row in some], color=colour, marker="o", markersize=4, label=name)
        bounds = [row.over_seeds if math.isfinite(row.over_seeds[0]) else (row.test, row.test) for row in some]
        axes.fill_between(at, *(scale * np.asarray(bounds).T), color=colour, alpha=0.15, linewidth=0)
        for place, row in points:
            axes.scatter([place] * len(row.tries), [scale * one for one in row.tests], color=colour, s=7, alpha=0.6)
    axes.axhline(scale * study.rows[-1].test, color="#5b6670", linewidth=0.8, linestyle=":", label=study.rows[-1].name)
    shown = [scale * one for row in study.rows if row.chosen for one in row.tests]
    axes.set_ylim(min(shown) - 5, min(max(shown) + 5, 103))            # a band of three seeds may be wider than all there is
    axes.set_xscale("log")
    axes.set_xticks(at, [f"{place:,}" for place in at])
    axes.minorticks_off()
    axes.set_xlabel("labels")
    axes.set_ylabel(f"{study.metric} on test")
    axes.legend(frameon=False)
    return as_svg(figure)


def side_by_side(study: Study) -> str:
    """Test of every row with its seeds; nothing where there are several numbers of labels: `curve` shows those."""
    if len(_main(study)) > 1:
        return ""
    rows = [row for row in study.rows if row.chosen][::-1]
    figure, axes = figure_of_height(0.8 + 0.34 * len(rows))
    scale = 100.0
    for at, row in enumerate(rows):
        colour = COLOURS[0] if row.name == _main(study)[0].name else COLOURS[1] if row.tries[0].run else COLOURS[-1]
        low, high = row.over_seeds if math.isfinite(row.over_seeds[0]) else row.over_examples
        if math.isfinite(low):
            axes.plot([scale * low, scale * high], [at, at], color=colour, linewidth=5, alpha=0.25, solid_capstyle="butt",
                      zorder=0)
        axes.scatter([scale * one for one in row.tests], [at] * len(row.tries), color=colour, s=9, alpha=0.6, linewidths=0)
        axes.scatter([scale * row.test], [at], color=colour, marker="|", s=160)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel(f"{study.metric} on test")
    return as_svg(figure)


def transferred(study: Study) -> str:
    """Test by the number of layers transferred (Radford et al. 2018, figure 2, left); nothing where that was not asked."""
    rows = [row for row in study.rows if row.chosen and row.layers is not None]
    if not rows:
        return ""
    figure, axes = figure_of_height(4.0)
    scale = 100.0
    for size, colour in zip(study.floors, itertools.cycle(COLOURS)):
        points = sorted((row for row in rows if row.labels == size), key=lambda row: row.layers or 0)
        at, means = [row.layers or 0 for row in points], [row.test for row in points]
        bounds = [row.over_seeds if math.isfinite(row.over_seeds[0]) else (row.test, row.test) for row in points]
        away = np.abs(np.asarray(bounds).T - means)
        axes.errorbar(at, [scale * mean for mean in means], scale * away, color=colour, marker="o", markersize=4, capsize=3,
                      label=f"{size or 'all'} labels")
        for row in points:
            axes.scatter([row.layers] * len(row.tries), [scale * one for one in row.tests], color=colour, s=7, alpha=0.6)
    axes.axhline(scale * study.rows[-1].test, color="#5b6670", linewidth=0.8, linestyle=":", label=study.rows[-1].name)
    axes.set_xticks(sorted({row.layers or 0 for row in rows}))
    axes.set_xlabel("layers transferred")
    axes.set_ylabel(f"{study.metric} on test")
    axes.legend(frameon=False)
    return as_svg(figure)


def answers(study: Study) -> str:
    """What the median seed with most labels answered."""
    return answered.picture(study.task, _main(study)[-1].median.answers)


@dataclass
class Page:
    title: str
    lead: list[str]
    notes: list[str]
    whose: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)


def save(study: Study, folder: Path, model: str) -> None:
    """report.html and study.json."""
    last, task = _main(study)[-1], study.task
    page = Page(f"{model} on {task.name}", words(study), notes(study),
                f"Test, by the seed that is in the middle on dev ({last.median.seed}), {last.labels or 'all'} labels. "
                f"{answered.caption(task)}",
                [("task", f"{task.name}: {task.learn.in_words}"), ("metric", study.metric),
                 ("examples", f"train {len(task.train):,}, dev {_each(_devs(study))}, test {len(task.test):,}"),
                 *(("note", note) for note in task.notes), ("runs", str(folder))])
    render("tuned.html", folder / "report.html", page=page, rows=rows(study), apart=differences(study), curve=curve(study),
           side_by_side=side_by_side(study), transferred=transferred(study), answers=answers(study))
    write_json(folder / "study.json", values(study))
