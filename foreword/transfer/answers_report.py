"""Predictions on test, for people: a plot for every kind of task, and the most confident mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.report import Plot
from foreword.report.plots import columns, confusion, confusion_matrix, histograms, scatter
from foreword.tasks.entities import entities
from foreword.tasks.example import Example
from foreword.tasks.judging import METRICS
from foreword.tasks.labelled_task import LabelledTask

WORST = 8                                   # mistakes on a page
LENGTHS = (1, 6, 11, 21, 41)                # characters of a right answer, from each on


# --- a plot of all answers ------------------------------------------------------------------------------------------------


def answers_plot(task: LabelledTask, predicted: Sequence[Any], note: str = "") -> Plot:
    """The predictions for test, beside the labels; `note` stands before what the plot shows."""
    draw, caption = PLOTS[task.kind]
    return draw(task, predicted, f"{note} {caption}".strip())


def _classes(task: LabelledTask, predicted: Sequence[Any], note: str) -> Plot:
    return confusion_matrix(confusion([str(one.label) for one in task.test], predicted, task.labels), task.labels, note)


def _places(task: LabelledTask, predicted: Sequence[Any], note: str) -> Plot:
    """Which place the right choice had, and which was chosen: a model that knows nothing may have a favourite."""
    places = [str(number + 1) for number in range(max(len(one.choices) for one in task.test))]
    true = [places[int(one.label)] for one in task.test]             # type: ignore[arg-type]
    return confusion_matrix(confusion(true, [places[int(one)] for one in predicted], places), places, note)


def _kinds(task: LabelledTask, predicted: Sequence[Any], note: str) -> Plot:
    """Word by word, what kind of name each is part of."""
    true = [_kind(str(tag)) for one in task.test for tag in one.label]        # type: ignore[union-attr]
    answered = [_kind(tag) for tags in predicted for tag in tags]
    names = sorted({*true, *answered} - {"O"})
    return confusion_matrix(confusion(true, answered, ["O", *names]), ["none", *names], note)


def _kind(tag: str) -> str:
    return "O" if tag == "O" else tag.partition("-")[2] or tag


def _numbers(task: LabelledTask, predicted: Sequence[Any], note: str) -> Plot:
    return scatter([float(example.label) for example in task.test], predicted, note)         # type: ignore[arg-type]


def by_length(task: LabelledTask, predicted: Sequence[Any]) -> list[tuple[str, int, float]]:
    """(length of the shortest right answer, number of questions of this length, the metric's mean over them)"""
    judged = METRICS[task.metrics[0]](task.labels).judge(task.test, predicted)
    lengths = np.asarray([min(map(len, one.references)) for one in task.test])
    bins = np.searchsorted(LENGTHS, lengths, side="right")
    names = ["no answer", *(f"{first} to {after - 1}" for first, after in zip(LENGTHS, LENGTHS[1:])), f"{LENGTHS[-1]} or more"]
    scores = np.asarray(judged, float)
    return [(names[one], int((bins == one).sum()), float(scores[bins == one].mean())) for one in np.unique(bins)]


def _lengths(task: LabelledTask, predicted: Sequence[Any], note: str) -> Plot:
    return columns(by_length(task, predicted), "characters of the right answer", task.metrics[0], note)


def _scores(task: LabelledTask, predicted: Sequence[Any], note: str) -> Plot:
    relevant = np.asarray([float(one.label) > 0 for one in task.test])       # type: ignore[arg-type]
    scores = np.asarray(predicted, float)
    return histograms({"others": scores[~relevant].tolist(), "relevant": scores[relevant].tolist()}, "score", note)


COUNTS = "Counts; darker: more of the row."
PLOTS: dict[str, tuple[Callable[[LabelledTask, Sequence[Any], str], Plot], str]] = {
    "classify": (_classes, COUNTS), "pair": (_classes, COUNTS),
    "similarity": (_numbers, "Every point is a pair; dotted: predictions that are right."),
    "choice": (_places, f"Places of the choices. {COUNTS}"),
    "tag": (_kinds, f"Words, by the kind of name they are part of. {COUNTS}"),
    "span": (_lengths, "Numbers above the bars: how many questions."),
    "rank": (_scores, "Scores of the relevant candidates and of the others."),
}


# --- the most confident mistakes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    texts: tuple[str, ...]
    true: str
    predicted: str


def mistakes(task: LabelledTask, rows: Sequence[Mapping[str, Any]], most: int = WORST) -> list[Mistake]:
    """Where it was wrong and most confident, or furthest from the label. `rows`: the lines of predictions.jsonl for test."""
    weigh, found = WEIGHED[task.kind], []
    for example, row in zip(task.test, rows, strict=True):
        weight = weigh(example, row)
        if weight is not None:
            found.append((weight, Mistake(example.texts, _written(example, _right(example)), _written(example, row["answer"]))))
    return [mistake for _, mistake in sorted(found, key=lambda one: -one[0])[:most]]


def _right(example: Example) -> Any:
    label = example.label
    return example.references[0] if isinstance(label, tuple) and not example.words else label


def _written(example: Example, answer: Any) -> str:
    if example.choices:
        return example.choices[int(answer)]
    if example.words:
        names = sorted(entities([str(tag) for tag in answer]), key=lambda one: one[1])
        text = example.texts[0]
        return "; ".join(f"{kind}: {text[example.words[first].start: example.words[after - 1].end]}"
                         for kind, first, after in names) or "nothing"
    if isinstance(answer, float):
        return f"{answer:.2f}"
    return str(answer) if answer != "" else "no answer"


def _sure(example: Example, row: Mapping[str, Any]) -> float | None:
    return None if row["answer"] == example.label else float(row["scores"][str(row["answer"])])


def _elsewhere(example: Example, row: Mapping[str, Any]) -> float | None:
    """An answer that is no part of a right one, nor a right one of it."""
    said, right = row["answer"], example.references
    near = said in right or any(one and said and (one in said or said in one) for one in right)
    return None if near else float(row["scores"]["answer"] - row["scores"]["none"]) * (1 if said else -1)


def _away(example: Example, row: Mapping[str, Any]) -> float | None:
    return abs(float(row["answer"]) - float(example.label)) or None           # type: ignore[arg-type]


def _wrong_words(example: Example, row: Mapping[str, Any]) -> float | None:
    return float(sum(tag != str(right) for tag, right in zip(row["answer"], example.label))) or None       # type: ignore[arg-type]


def _too_high(example: Example, row: Mapping[str, Any]) -> float | None:
    """The score of a candidate that is not relevant."""
    return None if float(example.label) > 0 else float(row["answer"])       # type: ignore[arg-type]


WEIGHED: dict[str, Callable[[Example, Mapping[str, Any]], float | None]] = {
    "classify": _sure, "pair": _sure, "choice": _sure, "similarity": _away, "span": _elsewhere, "tag": _wrong_words,
    "rank": _too_high}
