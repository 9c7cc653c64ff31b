"""Annotation artefacts: a classifier that sees one of two texts, words that go with a label (Gururangan et al. 2018).

A set of pairs is clean if the blind classifier does no better than the commonest class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from foreword.basics.messages import Fault
from foreword.compare import cross_dataset
from foreword.compare.cross_dataset import CrossResult
from foreword.report import Plot, Report, Section, Table, Text
from foreword.report.plots import COLOURS, GREY
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import PairedDifference, Proportion, difference
from foreword.text.words import mostly_chinese
from foreword.transfer.baselines import Baseline, majority, words
from foreword.transfer.label_subset import with_permuted_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDES = {"first": 0, "second": 1}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class OneSideResult:
    """How well a label can be guessed from one side of a pair."""

    side: str
    blind: Baseline
    commonest: Baseline
    shuffled: Baseline  # learned from labels drawn by lot: what is left is chance
    above: PairedDifference  # accuracy above the commonest class
    easy: tuple[Example, ...]  # of test: what the blind classifier gets right ...
    hard: tuple[Example, ...]  # ... and wrong: where a model has to read both


def blind(task: LabelledTask, side: str = "second", seed: int = 0) -> OneSideResult:
    """The classifier that never sees the other side, beside the commonest class and a control."""
    if not (task.learn.has_classes and len(task.learn.reads) == 2):
        raise Fault(
            f"{task.name} is {task.learn.in_words}: there is no second text to be blind to.", "Probe a task of pairs."
        )
    accuracy = replace(task, learn=task.learn.model_copy(update={"metrics": ("accuracy",)}))
    seeing = words(accuracy, seen=(SIDES[side],), name=f"{side} text only")
    commonest = majority(accuracy)
    right = [
        [example.label == guess for example, guess in zip(task.test, one.predictions)] for one in (commonest, seeing)
    ]
    above = difference(Proportion(), right[0], right[1])
    control = words(with_permuted_labels(accuracy, seed), seen=(SIDES[side],), name=f"{side} text only, labels by lot")
    easy, hard = ([example for example, good in zip(task.test, right[1]) if good is wanted] for wanted in (True, False))
    return OneSideResult(side, seeing, commonest, control, above, tuple(easy), tuple(hard))


def halves(whole: CrossResult, task: LabelledTask) -> list[CrossResult]:
    """What a model scores where the second text alone gives the answer away, and where it does not (Gururangan et al. 2018).

    The classifier that parts them has not seen the model.
    """
    if whole.joined:
        return []  # other labels: what is right there is not what is right here
    blind_result, asked = blind(task), {example.id for example, _ in whole.answers}
    named = {"easy": blind_result.easy, "hard": blind_result.hard}
    there = {name: [one for one in some if one.id in asked] for name, some in named.items()}
    return [whole.of(some, f"{whole.task}, {name}") for name, some in there.items() if some]


# --- cues ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cue:
    """A word that goes with a label."""

    word: str
    label: str
    information: float  # pointwise mutual information in nats, smoothed
    count: int  # examples that have the word
    coverage: float  # of the label's examples, those that have it
    precision: float  # of the examples that have it, those of the label
    above: float  # precision above the label's share of all examples


def cues(
    examples: Sequence[Example], labels: Sequence[str], side: str = "second", smoothing: float = 100.0, top: int = 10
) -> dict[str, list[Cue]]:
    """Label -> its `top` words by PMI. `smoothing` is added to every count, so that rare words do not win by luck."""
    said = [set(_split(example.texts, side)) for example in examples]
    together = Counter((word, str(example.label)) for example, those in zip(examples, said) for word in those)
    shares = {label: sum(example.label == label for example in examples) / len(examples) for label in labels}
    words = sorted({word for word, _ in together})
    every = [[together[word, label] for label in labels] for word in words]
    counts = np.asarray(every, np.float64).reshape(-1, len(labels))
    information, having = pointwise(counts, smoothing), counts.sum(1)
    found: dict[str, list[Cue]] = {}
    for column, label in enumerate(labels):
        best = np.argsort(-information[:, column], kind="stable")[:top].tolist()
        coverage = counts[:, column] / max(shares[label] * len(examples), 1)
        precision = counts[:, column] / having
        measured = np.stack([coverage, precision, precision - shares[label]], 1).tolist()
        found[label] = [
            Cue(words[at], label, float(information[at, column]), int(having[at]), *measured[at]) for at in best
        ]
    return found


def pointwise(counts: np.ndarray, smoothing: float) -> np.ndarray:
    """log p(word, label) / (p(word) p(label)) from counts [words, labels]."""
    joint = counts + smoothing
    joint = joint / joint.sum()
    return np.log(joint / (joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)))


def _split(texts: Sequence[str], side: str) -> list[str]:
    """The words of one side (the only one, if there is one), or the characters of Chinese."""
    text = texts[min(SIDES[side], len(texts) - 1)].lower()
    return [sign for sign in text if sign.isalnum()] if mostly_chinese([text]) else _WORD.findall(text)


def lengths(examples: Sequence[Example], labels: Sequence[str], side: str = "second") -> dict[str, float]:
    """How many words each label's texts have, on average: another thing that may give it away."""
    sizes: dict[str, list[int]] = {label: [] for label in labels}
    for example in examples:
        sizes[str(example.label)].append(len(_split(example.texts, side)))
    return {label: float(np.mean(some)) if some else 0.0 for label, some in sizes.items()}


# --- what was found -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """All that was asked of one task."""

    task: LabelledTask
    blind: OneSideResult
    both: Baseline  # the same classifier, seeing both texts
    cues: Mapping[str, Sequence[Cue]]
    lengths: Mapping[str, float]
    crossed: Sequence[CrossResult] = ()

    @property
    def classifiers(self) -> tuple[Baseline, ...]:
        return self.blind.commonest, self.blind.shuffled, self.blind.blind, self.both


def report(probe: Probe) -> Report:
    """How much one side tells, which words do, and how well it works on other data sets."""
    task, blind = probe.task, probe.blind
    rows: list[tuple[str, ...]] = [("classifier", "accuracy", "95% interval", "chosen on dev")]
    rows += [(one.name, one.test[0].shown, one.test[0].between, one.setting) for one in probe.classifiers]
    cues = [
        {
            "label": "" if number else label,
            "word": cue.word,
            "PMI": f"{cue.information:.2f}",
            "examples": f"{cue.count:,}",
            "of the label": f"{cue.coverage:.1%}",
            "right": f"{cue.precision:.1%}",
            "above its share": f"{100 * cue.above:+.1f}",
        }
        for label, some in probe.cues.items()
        for number, cue in enumerate(some)
    ]
    lengths = ", ".join(f"{label} {words:.1f}" for label, words in probe.lengths.items())
    sizes = f"{len(task.train):,} to learn from, {len(task.dev):,} to choose by, {len(task.test):,} to test"
    parts = f"easy (right from the {blind.side} text alone): {len(blind.easy):,}; hard: {len(blind.hard):,}"
    crossed = (
        [Section("Across data sets", *section.blocks) for section in cross_dataset.report(probe.crossed).sections]
        if probe.crossed
        else []
    )
    return Report(
        f"{task.name}: annotation artefacts",
        [],
        [
            Section("The data", Text([f"{task.name}: {task.learn.in_words}, {sizes}", *task.notes])),
            Section(f"The {blind.side} text alone", Table(rows, left=(0, 3)), Text([verdict(blind), parts])),
            Section(
                "Words that go with a label",
                Table.of(cues, left=(0, 1)),
                Text([f"words in the {blind.side} text: {lengths}"]),
                cue_plot(probe),
            ),
            *crossed,
        ],
        values(probe),
    )


def verdict(blind: OneSideResult) -> str:
    found = "labels are given away." if blind.above.sign > 0 else "no sign that labels are given away."
    above, interval = blind.above.cells
    return f"The {blind.side} text alone is {above} points ({interval}) above the commonest class: {found}"


def values(probe: Probe) -> dict[str, object]:
    blind = probe.blind
    return {
        "task": probe.task.name,
        "side": blind.side,
        "labels": list(probe.task.labels),
        "notes": list(probe.task.notes),
        "accuracy": {
            one.name: {"value": one.test[0].value, "interval": one.test[0].interval, "setting": one.setting}
            for one in probe.classifiers
        },
        "above": blind.above.value,
        "interval": blind.above.interval,
        "easy": [example.id for example in blind.easy],
        "hard": [example.id for example in blind.hard],
        "cues": {label: [asdict(cue) for cue in some] for label, some in probe.cues.items()},
        "lengths": dict(probe.lengths),
        "crossed": cross_dataset.values(probe.crossed),
    }


def cue_plot(probe: Probe) -> Plot:
    """Every cue by how many examples have it and how often it is right."""

    def draw(axes: Axes) -> None:
        for number, (label, some) in enumerate(probe.cues.items(), 1):
            colour = COLOURS[number % len(COLOURS)]
            counts, right = [cue.count for cue in some], [100 * cue.precision for cue in some]
            axes.scatter(counts, right, color=colour, s=18, label=label)
            for cue, count, share in zip(some, counts, right):
                axes.annotate(cue.word, (count, share), (4, 2), textcoords="offset points", fontsize=8, color=colour)
        axes.axhline(100 * probe.blind.commonest.test[0].value, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_xscale("log")

    note = f"{probe.task.name}: words that give a label away (dotted: the commonest class)"
    return Plot(4.6, draw, note, f"examples whose {probe.blind.side} text has the word", "of them with the label, %")
