"""Outcomes for people and programs: tables with intervals, differences between models, prompts and single examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foreword.basics.files import write_text
from foreword.evaluate.prompted import Outcome, Posed, shots_in_words
from foreword.report.report import aligned
from foreword.tasks.metrics import Interval, Metric, finite
from foreword.tasks.prompted.request import Request

HEAD = ("task", "metric", "value", "95% interval", "chance", "examples", "shots", "likelihoods")


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One model: a line for each metric of each task, and below what a reader must know of the numbers."""
    rows: list[tuple[str, ...]] = [HEAD]
    for outcome in outcomes:
        for number, (name, metric) in enumerate(outcome.metrics().items()):
            rows.append(("" if number else outcome.task.name, name, *_number(outcome, name, metric)))
    yield from aligned(rows, left=(0, 1, 7))
    yield from notes(outcomes)


def _number(outcome: Outcome, name: str, metric: Metric) -> tuple[str, ...]:
    guess = outcome.chance if name.startswith("accuracy") else None
    return (metric.shown(outcome.value(name)), _between(metric, outcome.interval(name)),
            "-" if guess is None else metric.shown(guess), f"{len(outcome.judged):,}", _shots([outcome]),
            outcome.task.kind.scored(name))


def side_by_side(by_model: dict[str, list[Outcome]]) -> Iterator[str]:
    """Several models: a column for each with its interval, and how far each is from the first on the same examples."""
    names = list(by_model)
    rows: list[tuple[str, ...]] = [("task", "metric", *names, "chance", "examples", "shots", "likelihoods")]
    apart: list[tuple[str, ...]] = [("task", "metric", f"minus {names[0]}", "difference", "95% interval", "")]
    for several in zip(*by_model.values()):
        first = several[0]
        for number, (name, metric) in enumerate(first.metrics().items()):
            cells = [f"{metric.shown(outcome.value(name))} ({_between(metric, outcome.interval(name))})" for outcome in several]
            _, _, chance, examples, _, scored = _number(first, name, metric)
            rows.append(("" if number else first.task.name, name, *cells, chance, examples, _shots(several), scored))
            for other in several[1:]:
                value, (low, high) = other.minus(first, name)
                verdict = "" if low <= 0 <= high else "beyond chance"
                apart.append((first.task.name, name, other.model, _signed(metric, value),
                              f"{_signed(metric, low)} to {_signed(metric, high)}", verdict))
    yield from aligned(rows, left=(0, 1, len(names) + 5))
    yield ""
    yield from aligned(apart, left=(0, 1, 2, 5))
    for name, outcomes in by_model.items():
        yield from (f"{name}: {line}" for line in notes(outcomes))


def _shots(several: Sequence[Outcome]) -> str:
    """As many as asked for, and how many there was room for if those are fewer."""
    used = [outcome.shots_used for outcome in several]
    asked = several[0].shots
    return str(asked) if min(used) == asked else f"{'/'.join(f'{one:.1f}' for one in used)} of {asked}"


def notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What there is to say, each thing once with the tasks it is about."""
    about: dict[str, list[str]] = {}
    for outcome in outcomes:
        for line in outcome.notes():
            about.setdefault(line, []).append(outcome.task.name)
    for line, tasks in about.items():
        yield f"{', '.join(tasks)}: {line}"


def _between(metric: Metric, interval: Interval) -> str:
    return f"{metric.shown(interval[0])} to {metric.shown(interval[1])}"


def _signed(metric: Metric, value: float) -> str:
    return ("+" if value >= 0 else "-") + metric.shown(abs(value))


def values(outcome: Outcome) -> dict[str, Any]:
    """The same for programs."""
    found = {}
    for name in outcome.metrics():
        low, high = outcome.interval(name)
        found[name] = {"value": finite(outcome.value(name)), "interval": [finite(low), finite(high)],
                       "likelihoods": outcome.task.kind.scored(name)}
    return {"task": outcome.task.name, "model": outcome.model, "metrics": found, "chance": outcome.chance,
            "examples": len(outcome.judged), "shots": outcome.shots,
            "shots_used": outcome.shots_used, "notes": outcome.notes()}


def differences(by_model: dict[str, list[Outcome]]) -> list[dict[str, Any]]:
    found = []
    for first, *others in zip(*by_model.values()):
        for other in others:
            for name in first.metrics():
                value, interval = other.minus(first, name)
                found.append({"task": first.task.name, "metric": name, "model": other.model, "minus": first.model,
                              "difference": finite(value), "interval": [finite(one) for one in interval]})
    return found


def prompt(outcome: Outcome) -> Iterator[str]:
    """The first example exactly as it was asked."""
    posed = outcome.posed[0]
    yield f"--- {outcome.task.name}: the first prompt, {shots_in_words(posed.shots)} ---"
    yield asked(posed)
    yield "---"


def asked(posed: Posed) -> str:
    """A query, with each continuation that was weighed in brackets."""
    by_query: dict[str, list[str]] = {}
    for request in posed.requests:
        by_query.setdefault(request.query, []).append(_tail(request))
    return "\n".join(f"{query}{''.join(tails)}" for query, tails in by_query.items())


def _tail(request: Request) -> str:
    return f"[{request.continuation}]" if hasattr(request, "continuation") else "[...]"


def write_examples(outcomes: Sequence[Outcome], path: Path) -> None:
    """Every example on a line: what was asked, what came back, whether it was right."""
    lines = []
    for outcome in outcomes:
        for posed, judged in zip(outcome.posed, outcome.judged):
            lines.append(json.dumps({
                "task": outcome.task.name, "model": outcome.model, "example": posed.example.number, "shots": posed.shots,
                "prompt": posed.requests[0].query, **judged.shown, "judged": judged.values}, ensure_ascii=False))
    write_text(path, "\n".join(lines) + "\n")
