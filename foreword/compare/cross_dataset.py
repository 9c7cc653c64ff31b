"""Trained on one data set, tested on others of its kind. Labels that mean the same are joined under one name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.basics.files import write_json_lines
from foreword.basics.messages import Fault
from foreword.report import Plot, Report, Section, Table, Text
from foreword.report.plots import GREY
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example
from foreword.tasks.judging import Scored, scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline
from foreword.transfer.kinds.base import Answer, prediction_record, read_predictions
from foreword.transfer.predict import Predictor, taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COARSER = {"entails": "entailment", "neutral": "not_entailment", "contradiction": "not_entailment"}


@dataclass(frozen=True)
class ScoredModel:
    """A fine-tuned run or a baseline, and the task it was trained on."""

    task: str
    kinds: Sequence[str]  # of tasks that it can be asked
    labels: tuple[str, ...]
    name: str = ""
    predict: Callable[[Sequence[Example]], Sequence[Any]] = list
    home: Sequence[tuple[str, str]] = ()  # of its own test: (right, said), where answers are classes
    seen: frozenset[str] = frozenset()  # names of sets of which it may have learned all but test
    cut: Callable[[], str] = lambda: ""  # a sentence about what did not fit of what it was asked, or nothing


@dataclass(frozen=True)
class CrossResult:
    """Trained on one data set, tested on another."""

    name: str  # of the model
    learned: str  # the data set it was trained on
    task: str  # the data set it was tested on
    labels: tuple[str, ...]  # what both sets' labels are called where they meet; () where there are none
    scores: tuple[Scored, ...]
    balanced: float | None  # the mean over labels of the share that is right: sets are unlike in balance
    commonest: float | None  # accuracy of the commonest class
    drop: float | None  # accuracy on its own test, labels joined alike, minus accuracy here
    joined: bool = False  # labels of one set or the other are called otherwise there
    answers: tuple[tuple[Example, Any], ...] = ()

    def of(self, some: Sequence[Example], called: str) -> CrossResult:
        """The same on some of its examples alone."""
        wanted = {example.id for example in some}
        return part_of(self, called, [one for one in self.answers if one[0].id in wanted])


def part_of(whole: CrossResult, called: str, answers: Sequence[tuple[Example, object]]) -> CrossResult:
    gold, said = [str(example.label) for example, _ in answers], [str(guess) for _, guess in answers]
    found = tuple(scored(("accuracy",), sorted({*gold, *said}), [example for example, _ in answers], said))
    return replace(
        whole,
        task=called,
        scores=found,
        balanced=_balanced(gold, said),
        commonest=Counter(gold).most_common(1)[0][1] / len(gold),
        drop=None,
        answers=(),
    )


def of_baseline(task: LabelledTask, baseline: Baseline) -> ScoredModel:
    answered = zip(task.test, baseline.predictions) if task.learn.has_classes else ()
    home, seen = [(str(example.label), str(said)) for example, said in answered], frozenset([task.name])
    return ScoredModel(task.name, (task.kind,), task.labels, baseline.name, baseline.predict, home, seen)


def of_run(path: Path) -> list[ScoredModel]:
    """A fine-tuned run, or each head of one that was fine-tuned on several tasks."""
    known = taught(path)
    return [
        _of_head(path, name if len(known) > 1 else "", frozenset(one.name for one in known.values())) for name in known
    ]


def _of_head(path: Path, name: str, seen: frozenset[str]) -> ScoredModel:
    opened = Predictor(path, name)

    def answer(examples: Sequence[Example]) -> list[object]:
        return opened.predict([replace(example, label=None) for example in examples]).labels  # its labels may be others

    classes = LABELLED_KINDS.find(opened.kinds[0]).has_classes
    home = [(line["label"], line["answer"]) for line in read_predictions(path, task=name)] if classes else ()
    called, cut = f"{path.name}/{name}" if name else path.name, opened.encoder.truncation_note
    return ScoredModel(opened.name, opened.kinds, opened.labels, called, answer, home, seen, cut)


def cross(who: ScoredModel, other: LabelledTask, limit: int | None = None) -> CrossResult:
    """Its scores on a data set's test examples; on all of a single file, if nothing of it was learned."""
    meaning = meanings(who, other)
    asked = (*other.train, *other.dev, *other.test) if other.one_file and other.name not in who.seen else other.test
    asked = asked[:limit]
    said = who.predict(asked)
    answers = tuple(zip(asked, said))
    if not other.learn.has_classes:
        found = tuple(other.scored(asked, said))
        return CrossResult(who.name, who.task, other.name, (), found, None, None, None, answers=answers)
    gold, guesses = [meaning[str(example.label)] for example in asked], [meaning[one] for one in said]
    labels, there = tuple(sorted(set(meaning.values()))), {*gold, *guesses}
    joined = [replace(example, label=label) for example, label in zip(asked, gold)]
    found = tuple(scored(("accuracy", "macro_f1"), [label for label in labels if label in there], joined, guesses))
    home = np.mean([meaning[right] == meaning[one] for right, one in who.home]) if who.home else None
    return CrossResult(
        who.name,
        who.task,
        other.name,
        labels,
        found,
        balanced=_balanced(gold, guesses),
        commonest=Counter(gold).most_common(1)[0][1] / len(gold),
        drop=None if home is None else float(home) - found[0].value,
        joined=any(label != name for label, name in meaning.items()),
        answers=answers,
    )


def _balanced(gold: Sequence[str], guesses: Sequence[str]) -> float:
    right: dict[str, list[bool]] = {}
    for label, guess in zip(gold, guesses):
        right.setdefault(label, []).append(label == guess)
    return float(np.mean([np.mean(some) for some in right.values()]))


def meanings(who: ScoredModel, other: LabelledTask) -> Mapping[str, str]:
    """The common name of each label; a fault where there is none."""
    if other.kind not in who.kinds:
        raise Fault(
            f"{who.task} is {LABELLED_KINDS.find(who.kinds[0]).in_words} and {other.name} is {other.learn.in_words}.",
            "Test on tasks of one kind.",
        )
    if set(other.labels) <= set(who.labels):
        return {label: label for label in who.labels}
    coarse = {label: COARSER.get(label, label) for label in (*who.labels, *other.labels)}
    if {coarse[label] for label in other.labels} <= {coarse[label] for label in who.labels} and other.learn.has_classes:
        return coarse
    raise Fault(
        f"the labels of {other.name} ({', '.join(other.labels)}) are not those of {who.task} ({', '.join(who.labels)}).",
        "Test on tasks whose labels mean the same.",
    )


def matching(who: Sequence[ScoredModel], others: Sequence[LabelledTask]) -> list[tuple[ScoredModel, LabelledTask]]:
    """Which model can be tested on what. Some heads of a run may not fit a data set; if none does, that is a fault."""
    found = []
    for other in others:
        faults: list[Fault] = []
        for one in who:
            try:
                meanings(one, other)
                found.append((one, other))
            except Fault as fault:
                faults.append(fault)
        if len(faults) == len(who):
            raise faults[0]
    return found


# --- what was found -----------------------------------------------------------------------------------------


def report(crossed: Sequence[CrossResult], tasks: Sequence[LabelledTask] = ()) -> Report:
    """A line for each data set, a matrix, and what was joined. The model stands in the table if there are several."""
    several, records = len({one.name for one in crossed}) > 1, []
    for one in crossed:
        who = ({"model": one.name} if several else {}) | {"trained on": one.learned, "tested on": one.task}
        shares = {"balanced": one.balanced, "majority": one.commonest, "drop": one.drop}
        for number, score in enumerate(one.scores):
            records.append(
                {
                    **(dict.fromkeys(who, "") if number else who),
                    "metric": score.metric,
                    "value": score.shown,
                    "95% interval": score.between,
                    "examples": f"{score.count:,}",
                    **{name: "" if number else _points(share) for name, share in shares.items()},
                }
            )
    table = Table.of(records, range(4 if several else 3))
    notes = [f"{one.name}: {note}" for one in tasks for note in one.notes]
    joined = [
        f"{', '.join(where)}: labels joined to {', '.join(labels)}." for labels, where in _joined(crossed).items()
    ]
    return Report(
        "Across data sets",
        [],
        [Section("Results", table, Text(joined), matrix(crossed), Text(notes))],
        {"crossed": values(crossed), "notes": [note for one in tasks for note in one.notes]},
    )


def _joined(crossed: Sequence[CrossResult]) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for one in crossed:
        if one.joined:
            found.setdefault(one.labels, []).append(f"{one.learned} on {one.task}")
    return {labels: list(dict.fromkeys(where)) for labels, where in found.items()}


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def values(crossed: Sequence[CrossResult]) -> list[dict[str, object]]:
    said = ("learned", "task", "labels", "joined", "balanced", "commonest", "drop")
    return [
        {"model": one.name, "metrics": {score.metric: score.values() for score in one.scores}}
        | {name: getattr(one, name) for name in said}
        for one in crossed
    ]


def matrix(crossed: Sequence[CrossResult]) -> Plot:
    """Every model by every data set: the first metric. Framed: tested on the data set it was trained on."""
    who, sets = (
        list(dict.fromkeys(names)) for names in ((_called(one) for one in crossed), (one.task for one in crossed))
    )

    def draw(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        table = np.full((len(who), len(sets)), np.nan)
        for one in crossed:
            row, column, score = who.index(_called(one)), sets.index(one.task), one.scores[0]
            table[row, column] = score.value
            axes.text(column, row, f"{score.shown}\n{score.between}", ha="center", va="center", fontsize=9)
            if one.learned == one.task:
                axes.add_patch(
                    Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, edgecolor=GREY, linewidth=1.2)
                )
        axes.imshow(table, cmap="Oranges", vmin=0, vmax=1.6, aspect="auto")
        axes.set_xticks(range(len(sets)), sets)
        axes.set_yticks(range(len(who)), who)

    metrics = ", ".join(dict.fromkeys(one.scores[0].metric for one in crossed))
    note = f"{metrics}, with 95% confidence intervals; framed: its own data set"
    return Plot(1.6 + 0.62 * len(who), draw, note, "tested on")


def _called(one: CrossResult) -> str:
    return one.name if one.name == one.learned else f"{one.name} (trained on {one.learned})"


def write_examples(crossed: Sequence[CrossResult], path: Path) -> None:
    """Every example on a line: model, data set, label and prediction."""
    write_json_lines(
        path,
        (
            {"model": one.name, "task": one.task, **prediction_record(example, Answer(said))}
            for one in crossed
            for example, said in one.answers
        ),
    )
