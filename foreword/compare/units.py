"""Units that follow a label: what a network carries along, read by L1 logistic regression (Radford et al. 2017).

The unit is chosen on train; dev chooses how many are left; test is looked at once. Beside it stands what the same search
finds where labels were exchanged, which must be chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.model import LoadedModel
from foreword.networks.base import Inputs
from foreword.report import HeatMap, Report, Section, Table, Text
from foreword.report.plots import histograms
from foreword.tasks.example import Example
from foreword.tasks.judging import Scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import Proportion, between
from foreword.transfer.baselines import Baseline, judged_together, library, majority
from foreword.transfer.label_subset import with_permuted_labels

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # C of L1 logistic regression: small ones leave few units
TOP = 8  # units in the table
ROWS = 256  # texts of one length that are read together
SHOWN = 2  # texts of test that are drawn, for either end of the unit


class UnitReader:
    """What stands behind a text, unit by unit: all that a recurrent network carries along; of others the last layer's mean."""

    def __init__(self, model: LoadedModel):
        model.need("embed")
        self.model, self.network = model, model.with_heads.network
        self.end = [model.tokenizer.special("[end]")] if model.tokenizer.has("[end]") else []
        self.known: dict[str, np.ndarray] = {}
        output = self.network(Inputs(torch.zeros(1, 1, dtype=torch.int64)))
        self.carries = self.network.units(output.state) is not None

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """[texts, units]; no text is read twice."""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        if new:
            self.known |= dict(zip(new, self._carried(new) if self.carries else self.model.embed(new)))
        return np.stack([self.known[text] for text in texts])

    def _ids(self, text: str) -> np.ndarray:
        """A text as a document of its own: behind the end of another."""
        return np.asarray([*self.end, *self.model.tokenizer.encode(text)], np.int64)

    @torch.inference_mode()
    def _carried(self, texts: Sequence[str]) -> list[np.ndarray]:
        rows = [self._ids(text) for text in texts]
        if any(not len(row) for row in rows):
            raise Fault("there is nothing to read: a text has no tokens.")
        found: list[np.ndarray] = [np.zeros(0)] * len(rows)
        lengths = np.asarray([len(row) for row in rows])
        for length in np.unique(lengths):  # of one length together: what is carried then never passes padding
            places = np.flatnonzero(lengths == length)
            for some in np.array_split(places, -(-len(places) // ROWS)):
                output = self.network(Inputs(torch.from_numpy(np.stack([rows[place] for place in some]))))
                memory = self.network.units(output.state)
                assert memory is not None
                for place, row in zip(some.tolist(), memory.float().numpy()):
                    found[place] = row
        return found

    @torch.inference_mode()
    def along(self, text: str, unit: int) -> list[tuple[str, float]]:
        """(character, the unit's value behind the last token that touches it)"""
        ids, offsets = self.model.tokenizer.encode_with_offsets([text])[0]
        if self.carries:
            values, state = [], None
            for token in [*self.end, *ids]:
                output = self.network(Inputs(torch.tensor([[int(token)]])), state)
                state = output.state
                values.append(float(self.network.units(state)[0, unit]))  # type: ignore[index]
            values = values[len(self.end) :]
        else:
            values = self.network(Inputs(torch.from_numpy(np.asarray(ids, np.int64))[None])).last[0, :, unit].tolist()
        shown = [0.0] * len(text)
        for value, (first, last) in zip(values, offsets.tolist()):
            shown[first:last] = [value] * (last - first)
        return list(zip(text, shown))


@dataclass(frozen=True)
class ProbedUnit:
    """One unit beside the labels."""

    number: int
    weight: float  # of L1 logistic regression, units brought to spread 1; the largest of all classes
    means: dict[str, float]  # by label, on train


@dataclass(frozen=True)
class UnitResults:
    """All that was asked of the units of one model."""

    task: LabelledTask
    name: str
    whole: Baseline  # logistic regression on all units that L1 leaves
    alone: Baseline  # on the first unit
    control: Baseline  # the same search where labels were exchanged
    left: int  # units with a weight that is not zero
    number: int  # units there are
    units: tuple[ProbedUnit, ...]  # the largest weights first
    values: np.ndarray  # of the first unit on test


def find(model: LoadedModel, task: LabelledTask, reader: UnitReader, seed: int = 0) -> UnitResults:
    if not task.learn.has_classes or len(task.learn.reads) != 1:
        raise Fault(f"{task.name} is {task.learn.in_words}: units are read for the classes of single texts.")
    train, right = read(reader, task.train), np.asarray([str(example.label) for example in task.train])
    chosen = [_l1(train, right, strength) for strength in STRENGTHS]
    dev, labels = read(reader, task.dev), [str(example.label) for example in task.dev]
    on_dev = [float(np.mean(one.predict(dev) == labels)) for one in chosen]
    best = int(np.argmax(on_dev))
    weights = np.abs(chosen[best][-1].coef_).max(0)
    order = np.argsort(-weights, kind="stable")[:TOP].tolist()
    units = tuple(
        ProbedUnit(unit, _signed(chosen[best][-1].coef_, unit), _means(train[:, unit], right, task.labels))
        for unit in order
    )
    whole = judged_together(
        task,
        "all units",
        f"C {STRENGTHS[best]:g}, {int((weights > 0).sum())} of {len(weights)} units left",
        lambda examples: chosen[best].predict(read(reader, examples)).tolist(),
    )
    mixed = with_permuted_labels(task, seed)
    other = np.asarray([str(example.label) for example in mixed.train])
    lucky = int(np.abs(_l1(train, other, STRENGTHS[best])[-1].coef_).max(0).argmax())
    control = _alone(task, reader, lucky, train, other, f"unit {lucky}, of exchanged labels")
    alone = _alone(task, reader, order[0], train, right, f"unit {order[0]} alone")
    test = read(reader, task.test)[:, order[0]]
    return UnitResults(task, model.name, whole, alone, control, int((weights > 0).sum()), len(weights), units, test)


def read(reader: UnitReader, examples: Sequence[Example]) -> np.ndarray:
    return reader.of([example.texts[0] for example in examples])


def _l1(units: np.ndarray, labels: np.ndarray, strength: float) -> Any:
    """Each unit brought to mean 0 and spread 1, then one class against the others."""
    model = library("sklearn.linear_model").LogisticRegression(
        solver="liblinear", l1_ratio=1.0, C=strength, random_state=0
    )
    if len(set(labels.tolist())) > 2:
        model = library("sklearn.multiclass").OneVsRestClassifier(model)
    pipeline = library("sklearn.pipeline").make_pipeline(library("sklearn.preprocessing").StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a strength at which nothing is left, or that takes longer
        return pipeline.fit(units, labels)


def _alone(
    task: LabelledTask, reader: UnitReader, unit: int, train: np.ndarray, labels: np.ndarray, name: str
) -> Baseline:
    """Logistic regression on one number: of two classes a threshold, which side is which being told by train."""
    model = library("sklearn.linear_model").LogisticRegression(C=1e6).fit(train[:, [unit]], labels)
    return judged_together(task, name, "", lambda examples: model.predict(read(reader, examples)[:, [unit]]).tolist())


def _signed(weights: np.ndarray, unit: int) -> float:
    return float(weights[np.abs(weights[:, unit]).argmax(), unit])


def _means(values: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> dict[str, float]:
    return {name: float(values[labels == name].mean()) for name in names if (labels == name).any()}


# --- what was found -----------------------------------------------------------------------------------------


def report(found: UnitResults, reader: UnitReader, texts: Sequence[str] = ()) -> Report:
    """Accuracy with all units and with one, the unit's values by class, and texts coloured by it."""
    first, task = found.units[0], found.task
    common = majority(task)
    rows: list[tuple[str, ...]] = [("read by", "accuracy", "95% interval", "chosen on dev")]
    rows += [(one.name, _test(one).shown, _test(one).between, one.setting) for one in _classifiers(found, common)]
    units = [
        {"unit": str(one.number), "weight": f"{one.weight:+.3f}"}
        | {f"mean of {label}": f"{mean:+.3f}" for label, mean in one.means.items()}
        for one in found.units
    ]
    labels = [str(example.label) for example in task.test]
    groups = {
        label: [float(value) for value, own in zip(found.values, labels) if own == label] for label in task.labels
    }
    spread = float(np.abs(found.values - found.values.mean()).max()) or 1.0
    maps = [
        HeatMap(
            [(sign, (value - float(found.values.mean())) / spread) for sign, value in reader.along(text, first.number)]
        )
        for text in (*texts, *([] if texts else _ends(found)))
    ]
    clamps = [
        f"foreword generate {found.name} --clamp {first.number}={mean:+.3f}    # as in {label}"
        for label, mean in first.means.items()
    ]
    return Report(
        f"Units of {found.name} on {task.name}",
        [verdict(found, common)],
        [
            Section("Accuracy on test", Table(rows, left=(0, 3))),
            Section(
                "The largest weights", Table.of(units), Text(["Units are brought to spread 1 before they are weighed."])
            ),
            Section(f"Unit {first.number} by class", histograms(groups, f"unit {first.number} behind a text of test")),
            Section(f"Texts, coloured by unit {first.number}", *maps),
            Section(
                "Writing with it", Text(clamps if reader.carries else ["Nothing is carried along: it cannot be held."])
            ),
        ],
        values(found, common),
    )


def _classifiers(found: UnitResults, common: Baseline) -> tuple[Baseline, ...]:
    return found.whole, found.alone, found.control, common


def _test(one: Baseline) -> Scored:
    return one.test[0]


def _ends(found: UnitResults) -> list[str]:
    order = np.argsort(found.values)
    return [found.task.test[place].texts[0] for place in (*order[:SHOWN].tolist(), *order[-SHOWN:].tolist())]


def verdict(found: UnitResults, common: Baseline) -> str:
    alone, luck = _test(found.alone), _test(found.control)
    sure = Proportion().interval([a == b.label for a, b in zip(found.alone.predictions, found.task.test)])
    held = "it follows the label." if sure[0] > max(luck.value, _test(common).value) else "that may be luck."
    return (
        f"Of {found.number:,} units {found.left:,} are left, {_test(found.whole).shown} right on test. {found.alone.name} "
        f"is right on {alone.shown} (95% {between(Proportion(), sure)}; exchanged labels: {luck.shown}; "
        f"{common.name}: {_test(common).shown}): {held}"
    )


def values(found: UnitResults, common: Baseline) -> dict[str, object]:
    return {
        "task": found.task.name,
        "model": found.name,
        "units": [{"unit": one.number, "weight": one.weight, "means": one.means} for one in found.units],
        "left": found.left,
        "of": found.number,
        "accuracy": {
            name: {"value": _test(one).value, "interval": _test(one).interval}
            for name, one in zip(("all", "alone", "exchanged", "majority"), _classifiers(found, common))
        },
    }
