"""The advice as a page: two sentences, the candidates, what more would buy, labels that may be wrong, the command again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from foreword.basics.messages import duration
from foreword.compare.advise.advice import Advice
from foreword.compare.advise.candidates import BASELINE
from foreword.compare.advise.curve import Point, through
from foreword.compare.advise.looking import disagreements
from foreword.compare.advise.trials import Trial
from foreword.report import Facts, Plot, Report, Section, Table, Text
from foreword.report.plots import COLOURS
from foreword.tasks.metrics import Metric, between, finite

FEW = 100  # labels below which more cannot be foretold


def report(advice: Advice) -> Report:
    problem, winner = advice.problem, advice.winner
    ahead = more_labels(advice)
    doubtful_labels = doubtful(advice)
    facts = [
        ("folder", str(advice.wish.out)),
        ("took", f"{duration(advice.race.clock.spent)} of {duration(advice.race.clock.budget)}"),
        (
            "judged by",
            f"{problem.task.metrics[0]}, {len(problem.folds)} folds of the training labels; test once, at the end",
        ),
        ("again", command(advice)),
    ]
    return Report(
        f"Advice for {problem.task.name}",
        lead(advice),
        [
            Section(
                "What there is", Text([*([advice.text.sentence] if advice.text else []), *advice.facts], note=True)
            ),
            Section("Candidates", candidates(advice)),
            Section("What more would buy", Text(gains(advice, ahead)), curve_plot(advice, ahead)),
            Section("Labels that may be wrong", doubtful_labels)
            if doubtful_labels
            else Section("Labels that may be wrong"),
            Section("How this was made", Facts(facts), Text([f"Again: {command(advice)}"], note=True)),
        ],
        values(advice, ahead, winner),
    )


def command(advice: Advice) -> str:
    wish = advice.wish
    starts = "".join(f" --start {one}" for one in wish.starts)
    return f"foreword advise {wish.text} --labels {wish.labels} --budget {wish.written}{starts} --out {wish.out}"


def lead(advice: Advice) -> list[str]:
    """The answer in two sentences."""
    problem, winner, tested = advice.problem, advice.winner, advice.tested
    metric = problem.measure.metric
    if not advice.learned:
        return [
            f"Nothing was learned from these {len(problem.examples):,} labels: no candidate is better than one answer to "
            f"everything ({metric.shown(tested[-1].value)} on test) beyond chance.",
            unknown(advice),
        ]
    beside = ""
    if advice.apart and len(tested) > 1:
        how, bounds = advice.apart.cells
        beside = f"; {tested[1].name} gets {metric.shown(tested[1].value)}, a difference of {how} ({bounds})"
    first = f"Use {winner.name}: {problem.task.metrics[0]} {metric.shown(tested[0].value)} on test{beside}."
    return [first, f"It is kept: foreword predict {advice.wish.out / 'winner'} FILE"]


def unknown(advice: Advice) -> str:
    """What so few labels cannot tell."""
    problem = advice.problem
    seen = 1.96 * math.sqrt(0.5 / max(len(advice.winner.places), 1))
    return (
        f"With {len(problem.examples):,} labels, two candidates have to differ by about {100 * seen:.0f} points to be "
        "told apart."
        if problem.task.learn.has_classes
        else "More labels would tell more."
    )


def candidates(advice: Advice) -> Table:
    problem, race = advice.problem, advice.race
    metric, measure = problem.measure.metric, problem.measure
    rows: list[tuple[str, ...]] = [
        ("candidate", problem.task.metrics[0], "95%", "behind the first", "labels", "time", "setting")
    ]
    first = advice.order[0]
    for one in advice.order:
        judged = measure.judge([problem.examples[place] for place in one.places], one.predictions)
        behind = "" if one is first else metric.shown(race.apart(first, one)[0])
        labels = f"{one.size or len(problem.train_of(problem.folds[0], None)):,}"
        bounds = between(metric, metric.interval(judged))
        rows.append((one.name, metric.shown(one.value), bounds, behind, labels, duration(one.seconds), one.shown))
    for (name, _), one in race.trials.items():
        if one.failed and not any(name == other.name for other in advice.order):
            rows.append((name, "-", "-", "-", "-", "-", one.failed))
    for name, seconds in race.too_slow.items():
        if not any(name == other.name and other.size is None for other in advice.order):
            rows.append((name, "-", "-", "-", "all", "-", f"not tried: about {duration(seconds)} more"))
    return Table(
        rows, left=(0, 6), best=1, caption=f"{problem.task.metrics[0]} within the training labels (cross-validation)"
    )


def more_labels(advice: Advice) -> list[Point]:
    """The winner with twice and four times the labels, where that can be foretold."""
    curve, problem = advice.curve, advice.problem
    if len(curve) < 3 or len(problem.examples) < FEW or not advice.learned:
        return []
    judged = [problem.judged(one.places, one.predictions) for _, one in curve]
    sizes = [size for size, _ in curve]
    return through(problem.measure.metric, sizes, judged, [2 * sizes[-1], 4 * sizes[-1]])


def gains(advice: Advice, ahead: Sequence[Point]) -> list[str]:
    metric, found = advice.problem.measure.metric, []
    if ahead:
        said = "; ".join(
            f"with {one.labels:,} {metric.shown(one.value)} ({metric.shown(one.low)} to {metric.shown(one.high)})"
            for one in ahead
        )
        now = advice.curve[-1]
        found.append(f"Labels: {metric.shown(now[1].value)} with {now[0]:,}; {said}. Beyond that nothing can be said.")
    elif advice.learned:
        found.append(f"Labels: {len(advice.problem.examples):,} are too few to foretell what more would bring.")
    slow = [f"{name} (about {duration(seconds)})" for name, seconds in advice.race.too_slow.items()]
    if slow:
        found.append(f"Minutes: more would try {', '.join(slow)}.")
    else:
        found.append("Minutes: every candidate was tried.")
    if advice.text and advice.text.cut:
        found.append("Text: a larger budget would read more of it.")
    return found


def doubtful(advice: Advice) -> Table | None:
    """Training labels that the winner is surest are others."""
    problem, winner = advice.problem, advice.winner
    if not winner.shares or not advice.learned:
        return None
    found = disagreements(problem.examples, problem.task.labels, winner.places, winner.table)
    if not found:
        return None
    rows = [("where", "label", "the winner says", "how surely", "text")]
    for example, said, sure in found:
        text = " | ".join(example.texts).replace("\n", " ")
        rows.append((example.where or example.id, str(example.label), said, f"{sure:.0%}", text[:80]))
    return Table(
        rows, left=(0, 1, 2, 4), caption="Training labels that the winner, not having seen them, is surest are others"
    )


def curve_plot(advice: Advice, ahead: Sequence[Point]) -> Plot | None:
    if not ahead:
        return None
    metric: Metric = advice.problem.measure.metric

    def draw(axes: Any) -> None:
        sizes = [size for size, _ in advice.curve]
        axes.plot(
            sizes, [metric.scale * one.value for _, one in advice.curve], "o-", color=COLOURS[0], label="measured"
        )
        places = [sizes[-1], *(one.labels for one in ahead)]
        axes.plot(
            places,
            [metric.scale * advice.curve[-1][1].value, *(metric.scale * one.value for one in ahead)],
            ":",
            color=COLOURS[0],
        )
        axes.fill_between(
            [one.labels for one in ahead],
            [metric.scale * one.low for one in ahead],
            [metric.scale * one.high for one in ahead],
            color=COLOURS[0],
            alpha=0.15,
            label="foretold, 95%",
        )
        axes.set_xscale("log")
        axes.legend()

    return Plot(3.0, draw, "Dotted: foretold from what was measured.", "labels", advice.problem.task.metrics[0])


def values(advice: Advice, ahead: Sequence[Point], winner: Trial) -> dict[str, object]:
    return {
        "task": advice.problem.task.name,
        "metric": advice.problem.task.metrics[0],
        "winner": winner.name if advice.learned else None,
        "learned": advice.learned,
        "seconds": advice.race.clock.spent,
        "test": {one.name: one.value for one in advice.tested},
        "difference": {"to": BASELINE, "value": advice.apart.value, "interval": list(advice.apart.interval)}
        if advice.apart
        else None,
        "candidates": [
            {
                "name": one.name,
                "value": finite(one.value),
                "labels": one.size,
                "seconds": one.seconds,
                "setting": one.shown,
            }
            for one in advice.order
        ],
        "failed": {name: one.failed for (name, _), one in advice.race.trials.items() if one.failed},
        "not_tried": dict(advice.race.too_slow),
        "facts": list(advice.facts),
        "more_labels": [{"labels": one.labels, "value": one.value, "interval": [one.low, one.high]} for one in ahead],
        "kept": str(advice.wish.out / "winner") if advice.learned else None,
    }
