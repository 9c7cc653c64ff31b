"""What predictions are worth beside labels. Every metric is a function of sums, so all have intervals and differences.

A prediction is what a label is: the name of a class, a number, a place among choices, the text of an answer ("" for none),
a tag for each word, or a candidate's score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.tasks.confidence import UNKNOWN, Interval
from foreword.tasks.entities import entities
from foreword.tasks.example import Example, Prediction
from foreword.tasks.metrics import (
    BinaryF1,
    MacroF1,
    Matthews,
    Mean,
    Metric,
    OverlapF1,
    Pearson,
    PooledAccuracy,
    Proportion,
    Spearman,
    value,
)
from foreword.tasks.text_match import character_exact, character_f1, exact_match, word_f1

Judge = Callable[[Sequence[Example], Sequence[Prediction]], list[Any]]


CUT = 10  # candidates of a query that NDCG looks at


# --- from examples and predictions to what a metric adds up -----------------------------------------------------------


def _each(judge: Callable[[Example, Prediction], object]) -> Judge:
    """One example after the other."""
    return lambda examples, predictions: [judge(example, guess) for example, guess in zip(examples, predictions)]


_same = _each(lambda example, guess: example.label == guess)
_numbers = _each(lambda example, guess: (float(guess), example.label))


def _places(labels: Sequence[str]) -> Judge:
    """(guess, gold) as places. A guess that is no label, or none, is wrong: it counts as the next class."""
    place = {label: number for number, label in enumerate(labels)}

    def judge(example: Example, guess: Prediction) -> tuple[int, int]:
        gold = place[str(example.label)]
        return place.get(guess, (gold + 1) % len(labels)), gold

    return _each(judge)


def _answers(compare: Callable[[str, Sequence[str]], float]) -> Judge:
    return _each(lambda example, guess: compare(guess, example.references))


def _names_found(example: Example, guess: Prediction) -> tuple[int, int, int]:
    gold, said = entities(example.tags), entities(guess)
    return len(gold & said), len(said), len(gold)


def _tags_right(example: Example, guess: Prediction) -> tuple[int, int]:
    return sum(gold == said for gold, said in zip(example.tags, guess)), len(example.tags)


def _ranked(worth: Callable[[np.ndarray], float], graded: bool = False) -> Judge:
    """One number for each query with a relevant candidate. Equal scores are ordered against us: saying nothing earns nothing."""

    def judge(examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[object]:
        groups: dict[str, list[tuple[float, float]]] = {}
        for example, score in zip(examples, predictions):
            groups.setdefault(example.group, []).append((-float(score), example.number))
        found = [np.asarray([label for _, label in sorted(group)]) for group in groups.values()]
        return [worth(labels if graded else labels > 0) for labels in found if (labels > 0).any()]

    return judge


def average_precision(relevant: np.ndarray) -> float:
    """Of candidates in their order: the mean, over the relevant, of the share of relevant ones down to there."""
    places = np.flatnonzero(relevant)
    return float(np.mean(np.arange(1, len(places) + 1) / (places + 1)))


def reciprocal_rank(relevant: np.ndarray) -> float:
    return 1 / (1 + int(np.argmax(relevant)))


def discounted_gain(labels: np.ndarray) -> float:
    """NDCG at 10: two to the power of each label less one, divided by the logarithm of its place, beside the best order's."""

    def gain(ordered: np.ndarray) -> float:
        return float(((2.0 ** ordered[:CUT] - 1) / np.log2(np.arange(2, len(ordered[:CUT]) + 2))).sum())

    return gain(np.maximum(labels, 0.0)) / gain(np.sort(np.maximum(labels, 0.0))[::-1])


@dataclass(frozen=True)
class Measure:
    """A metric and how examples and predictions become what it adds up."""

    metric: Metric
    judge: Judge
    within: Interval = (0.0, 1.0)  # no value lies outside

    def of(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> float:
        judged = self.judge(examples, predictions)
        return value(self.metric, judged) if judged else 0.0


CORRELATION = (-1.0, 1.0)

METRICS: dict[str, Callable[[Sequence[str]], Measure]] = {
    "accuracy": lambda labels: Measure(Proportion(), _same),
    "macro_f1": lambda labels: Measure(MacroF1(len(labels)), _places(labels)),
    "f1": lambda labels: Measure(BinaryF1(len(labels)), _places(labels)),
    "matthews": lambda labels: Measure(Matthews(len(labels)), _places(labels), CORRELATION),
    "pearson": lambda labels: Measure(Pearson(), _numbers, CORRELATION),
    "spearman": lambda labels: Measure(Spearman(), _numbers, CORRELATION),
    "span_f1": lambda labels: Measure(Mean(), _answers(word_f1)),
    "span_exact": lambda labels: Measure(Proportion(), _answers(exact_match)),
    "character_f1": lambda labels: Measure(Mean(), _answers(character_f1)),
    "character_exact": lambda labels: Measure(Proportion(), _answers(character_exact)),
    "entity_f1": lambda labels: Measure(OverlapF1(), _each(_names_found)),
    "tag_accuracy": lambda labels: Measure(PooledAccuracy(), _each(_tags_right)),
    "map": lambda labels: Measure(Mean(), _ranked(average_precision)),
    "ndcg@10": lambda labels: Measure(Mean(), _ranked(discounted_gain, graded=True)),
    "mrr": lambda labels: Measure(Mean(), _ranked(reciprocal_rank)),
}


@dataclass(frozen=True)
class Scored:
    """What predictions are worth by one metric, and within which bounds."""

    metric: str
    value: float
    interval: Interval
    count: int  # of what was averaged: examples, or queries
    shown: str

    @property
    def between(self) -> str:
        return f"{100 * self.interval[0]:.1f} to {100 * self.interval[1]:.1f}"

    def values(self) -> JsonObject:
        return {"value": self.value, "interval": list(self.interval), "count": self.count, "shown": self.shown}


def scored(
    metrics: Sequence[str],
    labels: Sequence[str],
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    interval: bool = True,
) -> list[Scored]:
    """Every metric of these predictions."""
    if len(examples) != len(predictions):
        raise Fault(f"{len(examples):,} examples and {len(predictions):,} predictions: they do not belong together.")
    if not examples:
        raise Fault("there is no example to score.", "Every split needs at least one example.")
    found = []
    for name in metrics:
        measure = METRICS[name](labels)
        judged = measure.judge(examples, predictions)
        got = value(measure.metric, judged) if judged else 0.0
        bounds = measure.metric.interval(judged) if judged and interval else UNKNOWN
        found.append(Scored(name, got, bounds, len(judged), measure.metric.shown(got)))
    return found
