"""The page of one fine-tuned run: what it is worth, how it learned, what it answers and where it is most wrong."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreword.basics.messages import duration
from foreword.report.html import render
from foreword.report.plot import COLOURS, as_svg, figure_of_height
from foreword.runs.folder import RunFolder
from foreword.tasks.judging import METRICS
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer import answers_report as answered
from foreword.transfer.answers_report import Mistake

CUT = 600        # characters of a text that a page shows


@dataclass(frozen=True)
class Part:
    """One task of the run."""

    name: str                                  # empty where there is only one
    rows: list[tuple[str, ...]]                # split, metric, value, interval, examples
    answers: str                               # a picture
    caption: str
    mistakes: list[Mistake]


@dataclass
class Page:
    title: str
    lead: list[str]
    parts: list[Part]
    curves: list[str] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)


def save(run: RunFolder, tasks: Mapping[str, LabelledTask]) -> Path:
    """report.html of a finished run. `tasks`: by their name in the run; of a run of one task, under the empty name."""
    passport, lines = run.passport(), _lines(run)
    parts, lead = [], []
    for name, task in tasks.items():
        scores = passport["scores"][name] if name else passport["scores"]
        rows = [row for row in lines if row["split"] == "test" and row.get("task", "") == name]
        parts.append(Part(name, rows_of(scores), answered.picture(task, [row["answer"] for row in rows]), answered.caption(task),
                          [_cut(one) for one in answered.mistakes(task, rows)]))
        lead.append(_said(task, scores))
    kept = passport["tasks"] if "" not in tasks else {"": passport["task"]}
    start = Path(passport["start"]["path"])
    named = start.parent.name if start.name == "model" else start.name
    page = Page(f"{named} on {', '.join(task.name for task in tasks.values())}", lead, parts,
                learning(run.metrics(), {name: task.metrics[0] for name, task in tasks.items()}), [
                    ("begun with", str(start)), *_tasks(tasks, kept),
                    ("learned", f"{passport['step']:,} steps in {duration(passport['seconds'])}; "
                                f"the weights of step {passport['best']['step']:,.0f}, which are best on dev"),
                    ("seed", str(passport["seed"])), ("run", str(run.path))])
    render("finetuned.html", run.path / "report.html", page=page)
    return run.path / "report.html"


def _lines(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def rows_of(scores: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Every metric of every split, each with the bounds within which it lies (95%)."""
    return [(split, metric, one["shown"], " to ".join(f"{100 * bound:.1f}" for bound in one["interval"]), f"{one['count']:,}")
            for split, metrics in scores.items() for metric, one in metrics.items()]


def _said(task: LabelledTask, scores: Mapping[str, Mapping[str, Any]]) -> str:
    name = task.metrics[0]
    one = scores["test"][name]
    low, high = (METRICS[name](task.labels).metric.shown(bound) for bound in one["interval"])
    return f"{task.name}: {name} {one['shown']} on test, between {low} and {high} with 95% certainty ({one['count']:,} cases)."


def _tasks(tasks: Mapping[str, LabelledTask], kept: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, task in tasks.items():
        counts = ", ".join(f"{split} {count:,}" for split, count in kept[name]["examples"].items())
        found.append(("task", f"{task.name}: {task.learn.in_words}; {counts}"))
        found += [("note", note) for note in kept[name]["notes"]]
    return found


def _cut(one: Mistake) -> Mistake:
    return Mistake(tuple(text if len(text) <= CUT else f"{text[:CUT]} ..." for text in one.texts), one.right, one.said)


def learning(records: Sequence[Mapping[str, Any]], metrics: Mapping[str, str]) -> list[str]:
    """The loss of training, and the metric by which dev chooses, step by step."""
    trained = [(one["step"], one["loss"]) for one in records if "loss" in one]
    asked = [one for one in records if "dev" in one]
    chosen = {name or metric: [(one["step"], 100 * one["dev"][f"{name}.{metric}" if name else metric]) for one in asked]
              for name, metric in metrics.items()}
    drawn = [_line("loss of the training examples", {"": trained})] if len(trained) > 1 else []
    some = {name: points for name, points in chosen.items() if len(points) > 1}
    return [*drawn, *([_line("dev", some)] if some else [])]


def _line(title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    figure, axes = figure_of_height(2.6)
    for (name, points), colour in zip(lines.items(), itertools.cycle(COLOURS if any(lines) else COLOURS[1:])):
        axes.plot(*zip(*points), color=colour, linewidth=1.4, marker="o" if len(points) < 30 else None, markersize=4,
                  label=name or None)
    axes.set_xlabel("step")
    axes.set_title(title, fontsize=11, loc="left")
    if any(lines):
        axes.legend(frameon=False)
    return as_svg(figure)
