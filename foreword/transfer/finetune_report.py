"""The page of one fine-tuned run: results, learning curves, predictions, and the most confident mistakes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreword.basics.messages import duration
from foreword.report import Facts, Plot, Report, Sample, Section, Table, Text
from foreword.report.plots import curves
from foreword.runs.folder import RunFolder
from foreword.tasks.judging import METRICS
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.kinds import transfer_kind_of

CUT = 600        # characters of a text that a page shows
WORST = 8        # mistakes on a page
HEAD: tuple[str, ...] = ("split", "metric", "value", "95%", "of")


def report(run: RunFolder, tasks: Mapping[str, LabelledTask]) -> Report:
    """What a finished run is. `tasks`: by their name in the run; of a run of one task, under the empty name."""
    passport, lines = run.passport(), _lines(run)
    results, sections, lead = [HEAD], [], []
    for name, task in tasks.items():
        scores = passport["scores"][name] if name else passport["scores"]
        results += [(f"{name} {split}".strip(), *cells) for split, *cells in rows_of(scores)]
        rows = [row for row in lines if row["split"] == "test" and row.get("task", "") == name]
        sections += _answers(task, name, rows)
        lead.append(_result(task, scores))
    start = Path(passport["start"]["path"])
    title = f"{start.parent.name if start.name == 'model' else start.name} on {', '.join(task.name for task in tasks.values())}"
    learned = learning(run.metrics(), {name: task.metrics[0] for name, task in tasks.items()})
    return Report(title, lead, [Section("Results", Table(results, left=range(5))), *sections, Section("Learning", *learned),
                                Section("How this was made", _facts(run, tasks))],
                  {"run": str(run.path), "scores": passport["scores"]})


def _lines(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def rows_of(scores: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Every metric of every split, with its 95% confidence interval."""
    return [(split, metric, one["shown"], " to ".join(f"{100 * bound:.1f}" for bound in one["interval"]), f"{one['count']:,}")
            for split, metrics in scores.items() for metric, one in metrics.items()]


def _result(task: LabelledTask, scores: Mapping[str, Mapping[str, Any]]) -> str:
    name = task.metrics[0]
    one = scores["test"][name]
    low, high = (METRICS[name](task.labels).metric.shown(bound) for bound in one["interval"])
    return f"{task.name}: {name} {one['shown']} on test (95% confidence interval {low} to {high}, {one['count']:,} cases)."


def _answers(task: LabelledTask, name: str, rows: Sequence[Mapping[str, Any]]) -> list[Section]:
    before = f"{name}: " if name else ""
    wrong = mistakes(task, rows)
    return [Section(f"{before}Predictions on test", transfer_kind_of(task.kind).plot(task, [row["answer"] for row in rows])),
            Section(f"{before}Most confident mistakes", *map(_shown, wrong), Text(
                ["Mistakes on test with the highest confidence, or furthest from the label. Some may be mistakes of the labels."],
                note=True, page_only=True) if wrong else None)]


@dataclass(frozen=True)
class Mistake:
    texts: tuple[str, ...]
    true: str
    predicted: str


def mistakes(task: LabelledTask, rows: Sequence[Mapping[str, Any]], most: int = WORST) -> list[Mistake]:
    """Where it was wrong and most confident, or furthest from the label. `rows`: the lines of predictions.jsonl for test."""
    kind, found = transfer_kind_of(task.kind), []
    for example, row in zip(task.test, rows, strict=True):
        weight = kind.mistake(example, row)
        if weight is not None:
            true, predicted = kind.shown(example, example.label), kind.shown(example, row["answer"])
            found.append((weight, Mistake(example.texts, true, predicted)))
    return [mistake for _, mistake in sorted(found, key=lambda one: -one[0])[:most]]


def _shown(one: Mistake) -> Sample:
    texts = "\n".join(text if len(text) <= CUT else f"{text[:CUT]} ..." for text in one.texts)
    return Sample("", texts, below=f"predicted: {one.predicted}; true: {one.true}")


def _facts(run: RunFolder, tasks: Mapping[str, LabelledTask]) -> Facts:
    passport = run.passport()
    kept = passport["tasks"] if "" not in tasks else {"": passport["task"]}
    pairs = [("started from", passport["start"]["path"])]
    for name, task in tasks.items():
        counts = ", ".join(f"{split} {count:,}" for split, count in kept[name]["examples"].items())
        pairs.append(("task", f"{task.name}: {task.learn.in_words}; {counts}"))
        pairs += [("note", note) for note in kept[name]["notes"]]
    return Facts([*pairs, ("trained", f"{passport['step']:,} steps in {duration(passport['seconds'])}; the weights of step "
                                      f"{passport['best']['step']:,.0f}, the best on dev, were kept"),
                  ("seed", str(passport["seed"])), ("run", str(run.path))])


def learning(records: Sequence[Mapping[str, Any]], metrics: Mapping[str, str]) -> list[Plot]:
    """The training loss, and the metric by which dev chooses, step by step."""
    trained = [(one["step"], one["loss"]) for one in records if "loss" in one]
    asked = [one for one in records if "dev" in one]
    chosen = {name or metric: [(one["step"], 100 * one["dev"][f"{name}.{metric}" if name else metric]) for one in asked]
              for name, metric in metrics.items()}
    drawn = [curves({"": trained}, "step", title="training loss")] if len(trained) > 1 else []
    some = {name: points for name, points in chosen.items() if len(points) > 1}
    return [*drawn, *([curves(some, "step", title="dev")] if some else [])]
