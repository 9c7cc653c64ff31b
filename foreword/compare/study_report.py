"""What a study found: a table, plots, the conclusions in words, and study.json."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foreword.compare.significance import Difference, Result
from foreword.compare.study import Study
from foreword.report import Facts, Plot, Report, Section, Table, Text
from foreword.report.plots import COLOURS, GREY
from foreword.tasks.metrics import Metric, between, finite, finite_bounds, signed
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.label_subset import label_subset
from foreword.transfer.labelled_run import FEW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT = 1e-9  # sums of shares are not exact: less than this is zero


def _number(metric: Metric, value: float) -> str:
    return metric.shown(value) if math.isfinite(value) else "-"


def records(study: Study) -> list[dict[str, str]]:
    """Every row of the table. Of what dev did not choose, test is not shown."""
    metric, found = study.task.measure.metric, []
    for row in study.results:
        lost = f" ({row.diverged} diverged)" if row.diverged else ""
        tested = {
            "test": _number(metric, row.test),
            "sd": _number(metric, row.spread),
            "min": _number(metric, min(row.tests)),
            "max": _number(metric, max(row.tests)),
            "95% (seeds)": between(metric, row.over_seeds),
            "95% (examples)": between(metric, row.over_examples),
        }
        found.append(
            {
                "model": row.name,
                "labels": str(row.labels or "all"),
                "rate": f"{row.rate:.2g}" if row.rate else "-",
                "batch": str(row.batch or "-"),
                "seeds": str(len(row.seeds)),
                "dev": _number(metric, row.dev),
                **(tested if row.chosen else dict.fromkeys(tested, "-")),
                "collapsed": f"{row.collapsed} of {len(row.seeds)}{lost}" if row.seeds[0].run is not None else "-",
            }
        )
    return found


def differences(study: Study) -> Table | None:
    metric = study.task.measure.metric
    found = [
        {
            "labels": str(one.labels or "all"),
            "model": one.name,
            "minus": one.minus,
            "difference": signed(metric, one.mean),
            "95% (seeds)": between(metric, one.over_seeds, True),
            "95% (examples)": between(metric, one.over_examples, True),
            "seed by seed": " ".join(signed(metric, each) for each in one.each),
        }
        for one in study.differences
    ]
    return Table.of(found, left=(1, 2, 6)) if found else None


def words(study: Study) -> list[str]:
    """The conclusions, and which differences are significant."""
    kept = [f"The best run on dev is {study.kept}: only its model was kept."] if study.kept else []
    return [
        *(_scores_of(study, row) for row in _main(study)),
        *(_significance(study, one) for one in study.differences),
        *kept,
    ]


def notes(study: Study) -> list[str]:
    """What a reader must know of the numbers."""
    metric, task = study.task.measure.metric, study.task
    tuned = [row for row in study.results if row.seeds[0].run]
    said = [
        "Rate, batch size and weights were chosen on dev; only what dev chose shows its score on test.",
        f"Dev has {_each(_devs(study))} examples, labels that were used too, and test {len(task.test):,}.",
        f"A seed has collapsed if it is not above {_each(study.floors, metric.shown)} on dev, "
        "what one answer to everything gets.",
    ]
    if any(row.diverged for row in tuned):
        said.append(
            "Seeds that diverged have collapsed; unless a restart saved them, they count as one answer to everything."
        )
    if any(row.labels for row in tuned):
        said.append("Every seed draws its own labels: the spread over seeds is also that.")
    if any(row.collapsed and "-again-" in str(one.run) for row in tuned for one in row.seeds):
        said.append("Seeds that collapsed were begun again with other chance: their scores are those of the last run.")
    short = dict.fromkeys(str(row.labels or "all") for row in tuned if max(one.steps for one in row.seeds) < FEW)
    if short:
        said.append(
            f"With {', '.join(short)} labels a run took fewer than {FEW} steps: small data wants more --epochs."
        )
    if len(tuned[0].seeds) < 3:
        said.append("With so few seeds the spread is hardly known: --seeds 5.")
    return said


def _devs(study: Study) -> dict[int | None, int]:
    """How many examples of dev chose, by the number of labels."""
    return {size: len(label_subset(study.task, size, 0).dev) for size in study.floors}


def _each(by_labels: Mapping[int | None, float], write: Callable[[float], str] = "{:,}".format) -> str:
    """'500', or what it is with every number of labels where that differs."""
    said = {size: write(value) for size, value in by_labels.items()}
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{one} (with {size or 'all'} labels)" for size, one in said.items())


def _main(study: Study) -> list[Result]:
    return study.find(study.results[0].name)


def _scores_of(study: Study, row: Result) -> str:
    metric = study.task.measure.metric
    beside = [
        f"{other.name} {_number(metric, other.test)}"
        for other in study.results
        if other.chosen
        and other.name != row.name
        and other.labels in (row.labels, None)
        and (other.labels == row.labels or other is study.results[-1])
    ]
    sure = f" ({between(metric, row.over_seeds)} over seeds)" if len(row.seeds) > 1 else ""
    lost = f" {row.collapsed} of {len(row.seeds)} seeds collapsed." if row.collapsed else ""
    return (
        f"With {row.labels or 'all'} labels {row.name} gets {_number(metric, row.test)} on test{sure}; "
        f"{', '.join(beside)}.{lost}"
    )


def _significance(study: Study, one: Difference) -> str:
    metric = study.task.measure.metric
    both = [bounds for bounds in (one.over_seeds, one.over_examples) if math.isfinite(bounds[0])]
    beyond = [low > EXACT or high < -EXACT for low, high in both]
    if len(both) < 2:
        verdict = "one seed is too few to tell."
    elif all(beyond):
        verdict = "significant over seeds and over examples."
    elif any(beyond):
        over, not_over = ("seeds", "examples") if beyond[0] else ("examples", "seeds")
        verdict = f"significant over {over} but not over {not_over}."
    else:
        verdict = "it may be chance."
    way = "above" if one.mean >= 0 else "below"
    return (
        f"With {one.labels or 'all'} labels {one.name} is {_number(metric, abs(one.mean))} {way} {one.minus}: {verdict}"
    )


def values(study: Study) -> dict[str, object]:
    """The same for programs."""
    return {
        "task": study.task.name,
        "metric": study.metric,
        "kept": str(study.kept) if study.kept else None,
        "by_labels": [
            {"labels": size, "dev": count, "floor": study.floors[size]} for size, count in _devs(study).items()
        ],
        "words": words(study),
        "notes": notes(study),
        "rows": list(map(_row_values, study.results)),
        "apart": [
            {
                "labels": one.labels,
                "model": one.name,
                "minus": one.minus,
                "difference": one.mean,
                "each": list(one.each),
            }
            | _bounds(one)
            for one in study.differences
        ],
    }


def _row_values(row: Result) -> dict[str, object]:
    """Of what dev did not choose, nothing of test."""
    about = ("labels", "rate", "batch", "chosen", "layers", "dev", "collapsed", "diverged")
    tested = {"test": row.test, "sd": finite(row.spread), "min": min(row.tests), "max": max(row.tests), **_bounds(row)}
    seeds = [
        {"seed": one.seed, "dev": one.dev, "collapsed": one.collapsed, "run": str(one.run) if one.run else None}
        | ({"test": one.test} if row.chosen else {})
        for one in row.seeds
    ]
    return {
        "model": row.name,
        **{name: getattr(row, name) for name in about},
        **(tested if row.chosen else {}),
        "seeds": seeds,
    }


def _bounds(one: Result | Difference) -> dict[str, object]:
    return {"over_seeds": finite_bounds(one.over_seeds), "over_examples": finite_bounds(one.over_examples)}


# --- plots --------------------------------------------------------------------------------------------------

BANDS = "Points are seeds, lines their means, bands the 95% confidence interval of the mean over seeds."
Line = Sequence[tuple[int, Result]]  # (place, what was found there)


def _by_place(study: Study, lines: Mapping[str, Line], xlabel: str, log: bool, note: str) -> Plot:
    """Test by something that was counted: every line with its seeds, and dotted what one answer to everything gets."""

    def draw(axes: Axes) -> None:
        for (name, points), colour in zip(lines.items(), itertools.cycle(COLOURS)):
            places, means = [place for place, _ in points], [100 * one.test for _, one in points]
            bounds = [one.over_seeds if math.isfinite(one.over_seeds[0]) else (one.test, one.test) for _, one in points]
            axes.plot(places, means, color=colour, marker="o", markersize=4, label=name)
            axes.fill_between(places, *(100 * np.asarray(bounds).T), color=colour, alpha=0.15, linewidth=0)
            for place, one in points:
                axes.scatter([place] * len(one.seeds), [100 * test for test in one.tests], color=colour, s=7, alpha=0.6)
        constant = study.results[-1]
        axes.axhline(100 * constant.test, color=GREY, linewidth=0.8, linestyle=":", label=constant.name)
        shown = [100 * test for points in lines.values() for _, one in points for test in (*one.tests, constant.test)]
        axes.set_ylim(min(shown) - 5, min(max(shown) + 5, 103))  # a band of three seeds may be wider than all there is
        axes.set_xscale("log" if log else "linear")
        ticks = sorted({place for points in lines.values() for place, _ in points})
        axes.set_xticks(ticks, [f"{place:,}" for place in ticks])
        axes.minorticks_off()

    return Plot(4.0, draw, note, xlabel, f"{study.metric} on test")


def label_curve(study: Study) -> Plot | None:
    """Test by the number of labels; nothing where there is only one number."""
    if len(_main(study)) < 2:
        return None
    names = dict.fromkeys(one.name for one in study.results[:-1])
    lines = {name: sorted((one.labels or len(study.task.train), one) for one in study.find(name)) for name in names}
    return _by_place(study, lines, "labels", True, f"{BANDS} Dotted: one answer to everything.")


def layers_curve(study: Study) -> Plot | None:
    """Test by the number of layers transferred (Radford et al. 2018, figure 2, left), where that was asked."""
    asked = [one for one in study.results if one.chosen and one.layers is not None]
    if not asked:
        return None
    asked.sort(key=lambda one: one.layers or 0)
    lines = {
        f"{size or 'all'} labels": [(one.layers or 0, one) for one in asked if one.labels == size]
        for size in study.floors
    }
    return _by_place(study, lines, "layers transferred", False, f"The layers above are re-initialised. {BANDS}")


def side_by_side(study: Study) -> Plot | None:
    """Test of every row with its seeds; nothing where there are several numbers of labels: the curve shows those."""
    if len(_main(study)) > 1:
        return None
    results = [one for one in study.results if one.chosen][::-1]

    def draw(axes: Axes) -> None:
        for at, one in enumerate(results):
            colour = COLOURS[0] if one.name == _main(study)[0].name else COLOURS[1] if one.seeds[0].run else COLOURS[-1]
            low, high = one.over_seeds if math.isfinite(one.over_seeds[0]) else one.over_examples
            if math.isfinite(low):
                axes.barh(at, 100 * (high - low), 0.2, 100 * low, color=colour, alpha=0.25, zorder=0)
            tests = [100 * test for test in one.tests]
            axes.scatter(tests, [at] * len(tests), color=colour, s=9, alpha=0.6, linewidths=0)
            axes.scatter([100 * one.test], [at], color=colour, marker="|", s=160)
        axes.set_yticks(range(len(results)), [one.name for one in results])
        axes.set_ylim(-0.6, len(results) - 0.4)

    note = "Points are seeds, strokes their means, bars the 95% interval of the mean over seeds (of one seed: over examples)."
    return Plot(0.8 + 0.34 * len(results), draw, note, f"{study.metric} on test")


def report(study: Study, folder: Path, model: str) -> Report:
    """The page and study.json."""
    last, task = _main(study)[-1], study.task
    whose = f"Test, by the median seed on dev ({last.median.seed}), {last.labels or 'all'} labels."
    facts = [
        ("task", f"{task.name}: {task.learn.in_words}"),
        ("metric", study.metric),
        ("examples", f"train {len(task.train):,}, dev {_each(_devs(study))}, test {len(task.test):,}"),
        *(("note", note) for note in task.notes),
        ("runs", str(folder)),
    ]
    return Report(
        f"{model} on {task.name}",
        words(study),
        [
            Section("Label curve", label_curve(study)),
            Section("Side by side", side_by_side(study)),
            Section("Layers transferred", layers_curve(study)),
            Section(
                "Every setting",
                Table.of(records(study), caption=f"{task.name}: {study.metric}, mean over seeds"),
                Text(notes(study), note=True, page_only=True),
            ),
            Section("Differences, seed by seed", differences(study)),
            Section("Predictions", transfer_kind_of(task.kind).plot(task, last.median.answers, whose)),
            Section("How this was made", Facts(facts)),
        ],
        values(study),
    )
