"""What is to be solved: the labels, the text beside them, and the folds in which everything is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from foreword.basics.seeds import number_of
from foreword.tasks.example import Example, Prediction
from foreword.tasks.judging import Measure
from foreword.tasks.labelled_task import LabelledTask
from foreword.text.words import words
from foreword.transfer.label_subset import drawn

FOLDS = 5
JUDGED = 4000  # examples at most whose answers are compared: a share of so many is known to 1.5 points


def same_text(example: Example) -> str:
    """What two examples share that say the same."""
    return "\x1f".join(" ".join(words(text)) for text in example.texts)


@dataclass(frozen=True)
class Fold:
    on: tuple[int, ...]  # places of the examples to learn from
    off: tuple[int, ...]  # of those to answer


@dataclass(frozen=True)
class Problem:
    """The training labels (train and dev together), and what there is beside them."""

    task: LabelledTask  # its dev is part of train
    vectors: Path | None = None  # a table of words of the user's own text
    text: Path | None = None  # jsonl of that text
    threads: int = 1
    seed: int = 0

    @staticmethod
    def of(task: LabelledTask) -> Problem:
        """Test texts that stand among the training texts too are left out."""
        train = (*task.train, *task.dev)
        known = {same_text(example) for example in train}
        test = tuple(example for example in task.test if same_text(example) not in known)
        return Problem(replace(task, train=train, dev=(), test=test or task.test))

    @property
    def examples(self) -> tuple[Example, ...]:
        return self.task.train

    @property
    def measure(self) -> Measure:
        return self.task.measure

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """Classes in their shares; what says the same, or answers the same query, in one fold."""
        groups: dict[str, list[int]] = {}
        for place, example in enumerate(self.examples):
            groups.setdefault(example.group or same_text(example), []).append(place)

        def order(name: str) -> tuple[str, int]:
            label = self.examples[groups[name][0]].label
            return label if isinstance(label, str) else "", number_of("fold", self.seed, name)

        parts: list[list[int]] = [[] for _ in range(min(FOLDS, len(groups)))]
        for number, name in enumerate(sorted(groups, key=order)):
            parts[number % len(parts)] += groups[name]
        most, found = -(-JUDGED // len(parts)), []
        for part in parts:
            mine = set(part)
            on = tuple(place for place in range(len(self.examples)) if place not in mine)
            judged = sorted(part, key=lambda place: number_of("judged", self.seed, place))[:most]
            found.append(Fold(on, tuple(sorted(judged))))
        return tuple(found)

    @property
    def learned_from(self) -> int:
        """Examples that a fold learns from."""
        return len(self.folds[0].on)

    def train_of(self, fold: Fold, size: int | None) -> list[Example]:
        """All that a fold learns from, or so many, fewer always among more."""
        every = [self.examples[place] for place in fold.on]
        return every if size is None or size >= len(every) else list(drawn(every, size, self.seed))

    def test_of(self, fold: Fold) -> list[Example]:
        return [self.examples[place] for place in fold.off]

    def value(self, places: Sequence[int], predictions: Sequence[Prediction]) -> float:
        return self.measure.of([self.examples[place] for place in places], predictions)

    def judged(self, places: Sequence[int], predictions: Sequence[Prediction]) -> list[object]:
        return self.measure.judge([self.examples[place] for place in places], predictions)


def smallest(problem: Problem) -> int:
    """Examples below which nothing is learned: two of each class."""
    return 2 * max(len(problem.task.labels), 1) if problem.task.learn.has_classes else 8


def sizes(problem: Problem) -> list[int | None]:
    """Numbers of labels that candidates are tried with, each four times the one before; None: all."""
    most, found, size = problem.learned_from, list[int | None](), 500
    while size * 2 < most:
        found.append(size)
        size *= 4
    return [*found, None]


def log_loss(labels: Sequence[str], examples: Sequence[Example], shares: np.ndarray) -> float:
    """Mean nats of the right class."""
    place = {label: number for number, label in enumerate(labels)}
    own = np.asarray([place.get(str(example.label), -1) for example in examples])
    picked = np.where(own >= 0, shares[np.arange(len(own)), np.maximum(own, 0)], 0.0)
    return float(-np.log(np.maximum(picked, 1e-6)).mean())
