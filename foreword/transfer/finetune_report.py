"""The page of one fine-tuned run: results, learning curves, predictions, and the most confident mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, duration
from foreword.basics.progress import say
from foreword.networks.base import Model
from foreword.networks.features import trunk_of
from foreword.report import Facts, Plot, Report, Sample, Section, Table, Text
from foreword.report.plots import curves
from foreword.runs.folder import RunFolder
from foreword.tasks.example import groups
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import PairedDifference, between, difference
from foreword.transfer.baselines import Baseline, fits_texts, judged, vectors
from foreword.transfer.controls import bag_of, order_in_words, recommended_in_words
from foreword.transfer.finetune import PUBLISHED
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import read_predictions
from foreword.transfer.label_subset import label_subset
from foreword.transfer.labelled_run import opened
from foreword.transfer.tuning import FinetuneSettings

CUT = 600  # characters of a text that a page shows
WORST = 8  # mistakes on a page
HEAD: tuple[str, ...] = ("split", "metric", "value", "95%", "of")
BESIDE: tuple[str, ...] = ("baseline", "metric", "value", "95%", "model minus it", "95%")
CONFIDENT = Text(
    ["Mistakes with the highest confidence, or furthest from the label. Some may be mistakes of the labels."],
    note=True,
    page_only=True,
)
MOST = 20_000  # training examples of a baseline: more would take minutes


def report(run: RunFolder, tasks: Mapping[str, LabelledTask]) -> Report:
    """What a finished run is. `tasks`: by their name in the run; of a run of one task, under the empty name."""
    passport = run.passport()
    results, beside, sections, lead = [HEAD], [BESIDE], list[Section](), list[str]()
    simple: JsonObject = {}
    for name, task in tasks.items():
        scores = passport["scores"][name] if name else passport["scores"]
        results += [(f"{name} {split}".strip(), *cells) for split, *cells in rows_of(scores)]
        rows = read_predictions(run.path, task=name)
        learned, said = _trained_on(task, passport), [row["answer"] for row in rows]
        found = [*compared(learned, said), *_bag(learned, passport, said)]
        beside += [(f"{name} {one.baseline.name}".strip(), *one.cells) for one in found]
        simple[name] = {one.baseline.name: one.values() for one in found}
        sections += _answers(task, name, rows)
        lead += [_result(task, scores, found)]
    start = Path(passport["start"]["path"])
    model = start.parent.name if start.name == "model" else start.name
    title = f"{model} on {', '.join(task.name for task in tasks.values())}"
    curves_of = learning(run.metrics(), {name: task.metrics[0] for name, task in tasks.items()})
    return Report(
        title,
        [*lead, *control_notes(passport), *reading_note(run)],
        [
            Section("Results", Table(results, left=range(5))),
            Section("Beside baselines, on test", Table(beside, left=(0, 1))),
            *sections,
            Section("Learning", *curves_of),
            Section("How this was made", _facts(run, tasks)),
        ],
        {"run": str(run.path), "scores": passport["scores"], "baselines": simple.get("", simple)},
    )


def control_notes(passport: Mapping[str, Any]) -> list[str]:
    """What the controls of a run said, where they were asked."""
    known = {"recommended": recommended_in_words, "word_order": order_in_words}
    return [in_words(passport[name]) for name, in_words in known.items() if name in passport]


def _trained_on(task: LabelledTask, passport: Mapping[str, Any]) -> LabelledTask:
    """The examples that the run itself was given."""
    tuning = passport.get("tuning", {})
    return label_subset(task, tuning.get("labels"), tuning.get("seed", 0))


# --- baselines beside the result ----------------------------------------------------------------------------


@dataclass(frozen=True)
class BaselineComparison:
    """A baseline, and how much better the model is on the same test examples."""

    baseline: Baseline
    difference: PairedDifference

    @property
    def cells(self) -> tuple[str, ...]:
        first = self.baseline.test[0]
        return first.metric, first.shown, first.between, *self.difference.cells

    def values(self) -> dict[str, object]:
        return {
            **{one.metric: one.values() for one in self.baseline.test},
            "model_minus_baseline": {"value": self.difference.value, "interval": list(self.difference.interval)},
        }


def _bag(task: LabelledTask, passport: Mapping[str, Any], predicted: Sequence[Any]) -> list[BaselineComparison]:
    """The mean of the token vectors that the model began with, read by a regression: what is there without any context."""
    path, tuning = Path(passport["start"]["path"]), passport.get("tuning", {})
    if not fits_texts(task.kind) or not path.exists() or len(task.train) > MOST:
        return []
    how = FinetuneSettings(network=tuning.get("network", ""), settings=tuple(tuning.get("settings", ())))
    start = opened(path, how)
    if not isinstance(start.model, Model) or start.tokenizer is None:
        return []
    measure = task.measure
    try:
        bag = vectors(task, bag_of(start.model, start.tokenizer), "bag of its token vectors")
    except Fault as fault:
        say(f"no baseline on token vectors: {fault.what}")
        return []
    mine, theirs = measure.judge(task.test, predicted), measure.judge(task.test, bag.predictions)
    return [BaselineComparison(bag, difference(measure.metric, theirs, mine))] if mine and theirs else []


def compared(task: LabelledTask, predicted: Sequence[object]) -> list[BaselineComparison]:
    """One answer to everything, and the best of a few seconds without a network, beside the predictions."""
    measure = task.measure
    mine, found = measure.judge(task.test, predicted), []
    for one in simple_baselines(task):
        theirs = measure.judge(task.test, one.predictions)
        if mine and theirs:
            found.append(BaselineComparison(one, difference(measure.metric, theirs, mine)))
    return found


def simple_baselines(task: LabelledTask) -> list[Baseline]:
    found = [judged(task, task.learn.constant, "", task.learn.constant_answer(task.train))]
    try:
        cut = len(groups(task.train)) > MOST
        simple = transfer_kind_of(task.kind).baseline(label_subset(task, MOST, 0) if cut else task)
        found.append(replace(simple, name=f"{simple.name} of {MOST:,} examples") if cut else simple)
    except Fault as fault:  # a package that is missing, or nothing to count
        say(f"no baseline on words: {fault.what}")
    return found


def reading_note(run: RunFolder) -> list[str]:
    """A narrow network that is read at one token may be read better as a mean of all: said, not done unasked."""
    recipe = run.recipe()
    width = getattr(trunk_of(recipe.network), "width", PUBLISHED)
    if getattr(recipe.objective, "read", "mean") == "mean" or width >= PUBLISHED:
        return []
    return [
        f"This network is {width} wide and is read at one token, as the published ones ({PUBLISHED} wide) are. Small ones "
        "are often read better as the mean of all: try --set objective.read=mean, or compare both with foreword study "
        "--vary objective.read=place,mean."
    ]


def rows_of(scores: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Every metric of every split, with its 95% confidence interval."""
    found: list[tuple[str, ...]] = []
    for split, metrics in scores.items():
        for metric, one in metrics.items():
            bounds = " to ".join(f"{100 * bound:.1f}" for bound in one["interval"])
            found.append((split, metric, one["shown"], bounds, f"{one['count']:,}"))
    return found


def _result(task: LabelledTask, scores: Mapping[str, Mapping[str, Any]], beside: Sequence[BaselineComparison]) -> str:
    name = task.metrics[0]
    one = scores["test"][name]
    bounds = between(task.measure.metric, one["interval"])
    found = f"{task.name}: {name} {one['shown']} on test (95% confidence interval {bounds}, {one['count']:,} cases)"
    if not beside:
        return f"{found}."
    best = min(beside, key=lambda other: other.difference.value)
    verdict = {
        1: "it is above them." if len(beside) > 1 else "it is above that.",
        0: f"no significant difference from {best.baseline.name}.",
        -1: f"{best.baseline.name} is better.",
    }[best.difference.sign]
    others = ", ".join(f"{other.baseline.name} {other.baseline.test[0].shown}" for other in beside)
    return f"{found}; {others}: {verdict}"


def _answers(task: LabelledTask, name: str, rows: Sequence[Mapping[str, object]]) -> list[Section]:
    before = f"{name}: " if name else ""
    plot, wrong = transfer_kind_of(task.kind).plot(task, [row["answer"] for row in rows]), mistakes(task, rows)
    return [
        Section(f"{before}Predictions on test", plot),
        Section(f"{before}Most confident mistakes", *wrong, CONFIDENT if wrong else None),
    ]


def mistakes(task: LabelledTask, rows: Sequence[Mapping[str, object]], most: int = WORST) -> list[Sample]:
    """Where it was wrong and most confident, or furthest from the label. `rows`: lines of predictions.jsonl."""
    kind, found = transfer_kind_of(task.kind), []
    for example, row in zip(task.test, rows, strict=True):
        weight = kind.mistake(example, row)
        if weight is not None:
            true, predicted = kind.shown(example, example.label), kind.shown(example, row["answer"])
            texts = "\n".join(text if len(text) <= CUT else f"{text[:CUT]} ..." for text in example.texts)
            found.append((weight, Sample(texts, f"predicted: {predicted}; true: {true}")))
    return [mistake for _, mistake in sorted(found, key=lambda one: -one[0])[:most]]


def _facts(run: RunFolder, tasks: Mapping[str, LabelledTask]) -> Facts:
    passport = run.passport()
    kept = passport["tasks"] if "" not in tasks else {"": passport["task"]}
    pairs = [("started from", passport["start"]["path"])]
    for name, task in tasks.items():
        counts = ", ".join(f"{split} {count:,}" for split, count in kept[name]["examples"].items())
        pairs.append(("task", f"{task.name}: {task.learn.in_words}; {counts}"))
        pairs += [("note", note) for note in kept[name]["notes"]]
    trained = f"{passport['step']:,} steps in {duration(passport['seconds'])}"
    kept_step = f"the weights of step {passport['best']['step']:,.0f}, the best on dev, were kept"
    pairs += [("trained", f"{trained}; {kept_step}"), ("seed", str(passport["seed"])), ("run", str(run.path))]
    return Facts(pairs)


def learning(records: Sequence[Mapping[str, Any]], metrics: Mapping[str, str]) -> list[Plot]:
    """The training loss, and the metric by which dev chooses, step by step."""
    trained = [(one["step"], one["loss"]) for one in records if "loss" in one]
    asked = [one for one in records if "dev" in one]
    chosen = {
        name or metric: [(one["step"], 100 * one["dev"][f"{name}.{metric}" if name else metric]) for one in asked]
        for name, metric in metrics.items()
    }
    drawn = [curves({"": trained}, "step", title="training loss")] if len(trained) > 1 else []
    some = {name: points for name, points in chosen.items() if len(points) > 1}
    return [*drawn, *([curves(some, "step", title="dev")] if some else [])]
