"""What a fine-tuned model answered on test, for people: a picture for every kind of task, and its worst mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.report.plot import COLOURS, as_svg, figure_of_height
from foreword.tasks.entities import entities
from foreword.tasks.example import Example
from foreword.tasks.judging import METRICS, references
from foreword.tasks.labelled_task import LabelledTask

ORANGE, BLUE, *_ = COLOURS
GREY = "#5b6670"
SHOWN = 30                                  # labels, above which a table of counts cannot be read
WORST = 8                                   # mistakes on a page
LENGTHS = (1, 6, 11, 21, 41)                # characters of a right answer, from each on


# --- a picture of all answers -------------------------------------------------------------------------------------------


def picture(task: LabelledTask, said: Sequence[Any]) -> str:
    """The answers to the examples of test, beside the right ones."""
    return PICTURES[task.kind](task, said)


def caption(task: LabelledTask) -> str:
    return CAPTIONS[task.kind]


def confusion(right: Sequence[str], said: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """[right, said] counts."""
    place = {label: number for number, label in enumerate(labels)}
    found = np.zeros((len(place), len(place)), np.int64)
    for one, other in zip(right, said, strict=True):
        found[place[one], place[other]] += 1
    return found


def _classes(task: LabelledTask, said: Sequence[Any]) -> str:
    return _counted(confusion([str(one.label) for one in task.test], said, task.labels), task.labels)


def _places(task: LabelledTask, said: Sequence[Any]) -> str:
    """Which place the right choice had, and which was chosen: a model that knows nothing may have a favourite."""
    places = [str(number + 1) for number in range(max(len(one.choices) for one in task.test))]
    right = [places[int(one.label)] for one in task.test]             # type: ignore[arg-type]
    return _counted(confusion(right, [places[int(one)] for one in said], places), places)


def _kinds(task: LabelledTask, said: Sequence[Any]) -> str:
    """Word by word, what kind of name each is part of."""
    right = [_kind(str(tag)) for one in task.test for tag in one.label]        # type: ignore[union-attr]
    answered = [_kind(tag) for tags in said for tag in tags]
    names = sorted({*right, *answered} - {"O"})
    return _counted(confusion(right, answered, ["O", *names]), ["none", *names])


def _kind(tag: str) -> str:
    return "O" if tag == "O" else tag.partition("-")[2] or tag


def _counted(counts: np.ndarray, labels: Sequence[str]) -> str:
    figure, axes = figure_of_height(1.4 + 0.42 * len(labels))
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    axes.imshow(share, cmap="Oranges", vmin=0, vmax=1.2, aspect="auto")
    for (row, column), count in np.ndenumerate(counts) if len(labels) <= SHOWN else ():
        axes.text(column, row, str(count), ha="center", va="center", fontsize=9)
    axes.set_xticks(range(len(labels)), labels, rotation=45 if len(labels) > 6 else 0)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("said")
    axes.set_ylabel("right")
    return as_svg(figure)


def _beside(task: LabelledTask, said: Sequence[Any]) -> str:
    figure, axes = figure_of_height(4.0)
    right = [float(example.label) for example in task.test]         # type: ignore[arg-type]
    axes.scatter(right, said, s=8, alpha=0.5, color=ORANGE)
    axes.plot([min(right), max(right)], [min(right), max(right)], color=GREY, linewidth=0.8, linestyle=":")
    axes.set_xlabel("right")
    axes.set_ylabel("said")
    return as_svg(figure)


def by_length(task: LabelledTask, said: Sequence[Any]) -> list[tuple[str, int, float]]:
    """(how long the shortest right answer is, how many are so long, what the answers to these are worth)"""
    judged = METRICS[task.metrics[0]](task.labels).judge(task.test, said)
    lengths = np.asarray([min(map(len, references(one))) for one in task.test])
    bins = np.searchsorted(LENGTHS, lengths, side="right")
    names = ["no answer", *(f"{first} to {after - 1}" for first, after in zip(LENGTHS, LENGTHS[1:])), f"{LENGTHS[-1]} or more"]
    worth = np.asarray(judged, float)
    return [(names[one], int((bins == one).sum()), float(worth[bins == one].mean())) for one in np.unique(bins)]


def _lengths(task: LabelledTask, said: Sequence[Any]) -> str:
    found = by_length(task, said)
    figure, axes = figure_of_height(3.4)
    drawn = axes.bar([name for name, _, _ in found], [100 * worth for _, _, worth in found], color=BLUE, width=0.7)
    axes.bar_label(drawn, labels=[f"{count:,}" for _, count, _ in found], padding=3, fontsize=9)
    axes.set_ylim(0, 108)
    axes.set_xlabel("characters of the right answer")
    axes.set_ylabel(task.metrics[0])
    return as_svg(figure)


def _scores(task: LabelledTask, said: Sequence[Any]) -> str:
    relevant = np.asarray([float(one.label) > 0 for one in task.test])       # type: ignore[arg-type]
    scores = np.asarray(said, float)
    figure, axes = figure_of_height(3.4)
    edges = np.histogram_bin_edges(scores, 30)
    for right, name, colour in ((False, "others", BLUE), (True, "relevant", ORANGE)):
        some = scores[relevant == right]
        if len(some):
            axes.hist(some, edges, weights=np.full(len(some), 100 / len(some)), color=colour, alpha=0.6, label=name)
    axes.set_xlabel("score")
    axes.set_ylabel("percent of them")
    axes.legend(frameon=False)
    return as_svg(figure)


PICTURES: dict[str, Callable[[LabelledTask, Sequence[Any]], str]] = {
    "classify": _classes, "pair": _classes, "similarity": _beside, "choice": _places, "tag": _kinds, "span": _lengths,
    "rank": _scores}
COUNTS = "Counts; darker: more of the row."
CAPTIONS = {
    "classify": COUNTS, "pair": COUNTS, "similarity": "Every point is a pair; dotted: as they should be.",
    "choice": f"Places of the choices. {COUNTS}",
    "tag": f"Words, by the kind of name they are part of. {COUNTS}",
    "span": "Numbers above the bars: how many questions.",
    "rank": "What candidates score, of the relevant ones and of the others."}


# --- the worst of them --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    texts: tuple[str, ...]
    right: str
    said: str


def mistakes(task: LabelledTask, rows: Sequence[Mapping[str, Any]], most: int = WORST) -> list[Mistake]:
    """Where it was wrong and surest, or furthest from what is right. `rows`: the lines of predictions.jsonl for test."""
    weigh, found = WEIGHED[task.kind], []
    for example, row in zip(task.test, rows, strict=True):
        weight = weigh(example, row)
        if weight is not None:
            found.append((weight, Mistake(example.texts, _written(example, _right(example)), _written(example, row["answer"]))))
    return [mistake for _, mistake in sorted(found, key=lambda one: -one[0])[:most]]


def _right(example: Example) -> Any:
    label = example.label
    return references(example)[0] if isinstance(label, tuple) and not example.words else label


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
    said, right = row["answer"], references(example)
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
