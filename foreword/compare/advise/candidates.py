"""What may win: each candidate fits labellers to examples, one for every setting that is tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

from foreword.compare.advise.problem import FOLDS, Problem
from foreword.tasks.example import Example
from foreword.transfer import baselines, linear
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import Answer
from foreword.transfer.labellers import Labeller
from foreword.transfer.linear import Block, LinearLabeller, ModelFeatures, OwnVectors, Setting
from foreword.transfer.self_training import LONGEST_LIST, taught
from foreword.transfer.tagger import WindowTagger, fit_tagger

STRENGTHS = (0.1, 1.0, 10.0, 100.0)
WEIGHTS = (0.1, 0.3, 1.0, 3.0)  # of vectors beside counts
FEW = 3000  # labels up to which self-training is tried
BASELINE, CONSTANT = "TF-IDF", "one answer"


class Saved(Labeller, Protocol):
    def save(self, folder: Path) -> None: ...


class Candidate(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Sequence[object]: ...

    @property
    def folds(self) -> int: ...

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> Sequence[Labeller]: ...


# --- without a network ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleLabeller:
    """A function of one example; nothing of it is kept."""

    predict: baselines.Predict

    def answers(self, examples: Sequence[Example]) -> list[Answer]:
        return [Answer(one) for one in self.predict(examples)]


@dataclass(frozen=True)
class ConstantAnswer:
    """The commonest label, or the mean."""

    name: str = CONSTANT
    settings: ClassVar[Sequence[object]] = ("",)
    folds: ClassVar[int] = FOLDS

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> Sequence[Labeller]:
        answer = problem.task.learn.constant_answer(train)
        return [RuleLabeller(lambda examples: [answer(example) for example in examples])]


@dataclass(frozen=True)
class LinearCandidate:
    """Regression on counts, on vectors, or on both side by side."""

    name: str
    words: bool = True
    characters: bool = False
    vectors: bool = False  # of words, from the user's own text
    model: Path | None = None  # what this model makes of the texts
    binary: bool = False  # naive Bayes' counts
    folds: ClassVar[int] = FOLDS

    @property
    def settings(self) -> list[Setting]:
        counted = self.words + self.characters
        dense = bool(self.vectors) + bool(self.model)
        weights = WEIGHTS if counted and dense else (1.0,)
        alone = [(0.0,) * counted + (1.0,) * dense] if counted and self.model else []
        rows = [*alone, *((1.0,) * counted + (weight,) * dense for weight in weights)]
        return [Setting(row, strength) for row in rows for strength in STRENGTHS]

    def blocks(self, problem: Problem) -> list[Block]:
        found: list[Block] = []
        if self.words:
            found.append(baselines.TfIdf(binary=self.binary))
        if self.characters:
            found.append(baselines.TfIdf(characters=True))
        if self.vectors:
            assert problem.vectors is not None
            found.append(OwnVectors(problem.vectors))
        if self.model:
            found.append(ModelFeatures(self.model, remembered(self.model)))
        return found

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> Sequence[LinearLabeller]:
        given = [one for one in settings if isinstance(one, Setting)]
        regression = linear.naive_bayes if self.binary else linear.logistic
        return linear.fitted(problem.task.kind, train, self.blocks(problem), given, regression)


@dataclass(frozen=True)
class SelfTrained:
    """A linear candidate that also learns from the labels it gives the user's own text."""

    teacher: LinearCandidate
    folds: ClassVar[int] = FOLDS

    @property
    def name(self) -> str:
        return f"{self.teacher.name}, self-trained"

    @property
    def settings(self) -> list[Setting]:
        return [one for one in self.teacher.settings if 1.0 <= one.strength < 100 and one.weights[-1] in (0.3, 1.0)]

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> Sequence[LinearLabeller]:
        from foreword.text.reading import documents

        assert problem.text is not None
        more = [one.text for one, _ in zip(documents([problem.text]), range(LONGEST_LIST))]
        given = [one for one in settings if isinstance(one, Setting)]
        teachers = self.teacher.fit(problem, train, given)
        return [taught(one, train, more, setting) for one, setting in zip(teachers, given)]


@dataclass(frozen=True)
class TaggerCandidate:
    """Tags by logistic regression on a word and those around it, and the likeliest path through them."""

    name: str = "words around each word"
    settings: ClassVar[Sequence[object]] = (3e-6,)
    folds: ClassVar[int] = 2  # of five: a sentence has many tags, and reading them takes a while

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> Sequence[WindowTagger]:
        return [fit_tagger(train, problem.task.labels, float(str(one))) for one in settings]


@dataclass(frozen=True)
class Rule:
    """What the kind of task has for a baseline."""

    name: str = "baseline"
    settings: ClassVar[Sequence[object]] = ("",)
    folds: ClassVar[int] = FOLDS

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> Sequence[Labeller]:
        cut = max(1, math.ceil(len(train) / 10))
        dev, rest = tuple(train[:cut]), tuple(train[cut:])
        task = replace(problem.task, train=rest, dev=dev, test=dev)
        return [RuleLabeller(transfer_kind_of(task.kind).baseline(task).predict)]


_embedded: dict[Path, baselines.Embed] = {}


def remembered(model: Path) -> baselines.Embed:
    """What a model makes of texts; none is read twice in this process."""
    from foreword import load

    if model not in _embedded:
        opened = load(model)
        _embedded[model] = baselines.remembered(lambda texts: opened.embed(list(texts)))
    return _embedded[model]


def quick(problem: Problem, starts: Sequence[Path]) -> list[Candidate]:
    """Those that take seconds, the simplest first."""
    kind = problem.task.kind
    if kind == "tag":
        return [ConstantAnswer(), Rule("names known from train"), TaggerCandidate()]
    if not baselines.fits_texts(kind):
        return [ConstantAnswer(), Rule()]
    classes, own = problem.task.learn.has_classes, problem.vectors is not None
    found: list[Candidate] = [
        ConstantAnswer(),
        LinearCandidate(BASELINE),
        LinearCandidate("TF-IDF of words and characters", characters=True),
    ]
    if classes:
        found.append(LinearCandidate("naive Bayes' counts (NB-SVM)", binary=True))
    if own:
        beside = LinearCandidate("word vectors of your text beside TF-IDF", characters=True, vectors=True)
        found += [LinearCandidate("word vectors of your text", words=False, vectors=True), beside]
        if kind == "classify" and problem.text is not None and len(problem.examples) <= FEW:
            found.append(SelfTrained(beside))
    return found + [LinearCandidate(f"{path.name}, frozen, beside TF-IDF", model=path) for path in starts]
