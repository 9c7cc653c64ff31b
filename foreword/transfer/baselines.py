"""Baselines under the protocol of everything else: fitted on train, one setting chosen on dev, test looked at once.

Logistic regression (ridge regression for numbers) on counts of words, on what a model makes of the texts, or on nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.tasks.example import Example, Prediction
from foreword.tasks.judging import Scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.text.words import mostly_chinese
from foreword.transfer import TRANSFER_KINDS
from foreword.transfer.kinds import transfer_kind_of

if TYPE_CHECKING:
    from foreword.transfer.kinds.base import TransferKind

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # C of logistic regression, 1 / alpha of ridge: large ones hold back little
Embed = Callable[[Sequence[str]], np.ndarray]
Texts = Sequence[tuple[str, ...]]
Predict = Callable[[Sequence[Example]], list[Prediction]]


class TextFeatures(Protocol):
    """From texts to one row of numbers each. What must be learned for it is learned from train only."""

    def fit(self, texts: Texts) -> Any: ...

    def of(self, texts: Texts) -> Any: ...


@dataclass(frozen=True)
class Baseline:
    """A fitted baseline, what was chosen on dev, and its scores."""

    name: str
    setting: str
    dev: tuple[Scored, ...]
    test: tuple[Scored, ...]
    predict: Predict
    predictions: tuple[Prediction, ...]  # of test


def library(name: str) -> Any:
    """A part of scikit-learn or scipy."""
    return needed(name, "transfer", "baselines need")


# --- features -----------------------------------------------------------------------------------------------------------


class TfIdf:
    """TF-IDF of single words and pairs of neighbours; of characters where the text is Chinese.

    Of two texts: both, what they share, where they differ, and how alike they are.
    `seen` blinds it: only these texts are read. `characters`: 2 to 5 inside words instead. `binary`: whether a word is there.
    """

    def __init__(self, seen: Sequence[int] = (0, 1), characters: bool = False, binary: bool = False):
        self.seen, self.characters, self.binary, self.chinese = seen, characters, binary, False
        self.counter: Any = None

    def fit(self, texts: Texts) -> TfIdf:
        shown = self._shown(texts)
        self.chinese = mostly_chinese(text for row in shown[:500] for text in row)
        self.counter = self._made()
        try:
            self.counter.fit([text for row in shown for text in row])
        except ValueError as error:
            raise Fault("the training texts hold no word that could be counted.") from error
        return self

    def restored(self, chinese: bool, terms: Sequence[str], idf: np.ndarray | None) -> TfIdf:
        """As it was fitted once."""
        self.chinese = chinese
        self.counter = self._made()
        self.counter.vocabulary = {term: number for number, term in enumerate(terms)}
        if idf is None:
            self.counter._validate_vocabulary()
        else:
            self.counter.idf_ = idf
        return self

    def _made(self) -> Any:
        library_of = library("sklearn.feature_extraction.text")
        inside = {"analyzer": "char_wb", "ngram_range": (2, 5)} if self.characters and not self.chinese else {}
        units = {"analyzer": "char"} if self.chinese else {"token_pattern": r"(?u)\b\w+\b"}
        how = inside or {**units, "ngram_range": (1, 2)}
        if self.binary:
            return library_of.CountVectorizer(binary=True, dtype=np.float32, **how)
        return library_of.TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **how)

    def of(self, texts: Texts) -> Any:
        assert self.counter is not None, "fit comes first"
        columns = [self.counter.transform(column) for column in zip(*self._shown(texts))]
        if len(columns) == 1:
            return columns[0]
        first, second = columns
        shared = first.multiply(second)
        sparse = library("scipy.sparse")
        alike = sparse.csr_matrix(np.asarray(shared.sum(1), np.float32))  # the cosine: rows have length 1
        return sparse.hstack([first, second, shared, abs(first - second), alike], format="csr")

    def _shown(self, texts: Texts) -> Texts:
        return [tuple(row[place] for place in self.seen if place < len(row)) for row in texts]


class ModelVectors:
    """What a model's embed() says of each text, each number brought to mean 0 and spread 1; of two: both, |u - v| and u * v."""

    def __init__(self, embed: Embed):
        self.embed = embed
        self.scaler: Any = None

    def fit(self, texts: Texts) -> ModelVectors:
        self.scaler = library("sklearn.preprocessing").StandardScaler().fit(self._raw(texts))
        return self

    def of(self, texts: Texts) -> Any:
        assert self.scaler is not None, "fit comes first"
        return self.scaler.transform(self._raw(texts))

    def _raw(self, texts: Texts) -> np.ndarray:
        columns = [np.asarray(self.embed(list(column)), np.float64) for column in zip(*texts)]
        if len(columns) == 1:
            return columns[0]
        first, second = columns
        return np.concatenate([first, second, abs(first - second), first * second], 1)


def remembered(embed: Embed) -> Embed:
    """The same vectors; no text is read twice."""
    known: dict[str, np.ndarray] = {}

    def vectors_of(texts: Sequence[str]) -> np.ndarray:
        new = list(dict.fromkeys(text for text in texts if text not in known))
        known.update(zip(new, embed(new)))
        return np.stack([known[text] for text in texts])

    return vectors_of


# --- baselines ----------------------------------------------------------------------------------------------------------


def majority(task: LabelledTask) -> Baseline:
    """Always the commonest class of train; the mean, of numbers."""
    _fittable(task)
    answer = task.learn.constant_answer(task.train)
    constant = answer(task.train[0])
    return judged(task, task.learn.constant, constant if isinstance(constant, str) else f"{constant:.3f}", answer)


def words(task: LabelledTask, seen: Sequence[int] = (0, 1), name: str = "TF-IDF") -> Baseline:
    return fitted(task, TfIdf(seen), name)


def vectors(task: LabelledTask, embed: Embed, name: str = "features") -> Baseline:
    return fitted(task, ModelVectors(embed), name)


def fitted(task: LabelledTask, features: TextFeatures, name: str) -> Baseline:
    """The strength that is best on dev by the task's first metric; of equals the one that holds back more."""
    kind, right = _fittable(task), [example.label for example in task.train]
    if task.learn.has_classes and len(set(right)) < 2:
        raise Fault(
            f"the training examples of {task.name} have only the label {right[0]!r}: there is nothing to tell apart.",
            "Give examples of at least two.",
        )
    features.fit(_texts(task.train))
    train, dev = features.of(_texts(task.train)), features.of(_texts(task.dev))
    models = [kind.regression(strength).fit(train, right) for strength in STRENGTHS]
    on_dev = [task.measure.of(task.dev, model.predict(dev).tolist()) for model in models]
    place = int(np.argmax(on_dev))
    return judged_together(
        task,
        name,
        f"strength {STRENGTHS[place]:g} of {STRENGTHS[0]:g} to {STRENGTHS[-1]:g}",
        lambda examples: models[place].predict(features.of(_texts(examples))).tolist(),
    )


def best_on_dev(
    task: LabelledTask,
    name: str,
    setting: str,
    numbers: Sequence[float],
    rule: Callable[[Any], Callable[[Example], Prediction]],
) -> Baseline:
    """The number that makes the rule best on dev by the task's first metric; of equals the first."""
    on_dev = [task.measure.of(task.dev, list(map(rule(number), task.dev))) for number in numbers]
    chosen = numbers[int(np.argmax(on_dev))]
    return judged(task, name, setting.format(chosen), rule(chosen))


def judged(task: LabelledTask, name: str, setting: str, answer: Callable[[Example], Prediction]) -> Baseline:
    return judged_together(task, name, setting, lambda examples: list(map(answer, examples)))


def judged_together(task: LabelledTask, name: str, setting: str, predict: Predict) -> Baseline:
    predictions = predict(task.test)
    dev, test = task.scored(task.dev, predict(task.dev), interval=False), task.scored(task.test, predictions)
    return Baseline(name, setting, tuple(dev), tuple(test), predict, tuple(predictions))


def fits_texts(kind: str) -> bool:
    """Whether labels of this kind can be fitted to features of the texts."""
    return transfer_kind_of(kind).regresses


def _fittable(task: LabelledTask) -> TransferKind:
    if not fits_texts(task.kind):
        known = ", ".join(kind for kind in reversed(TRANSFER_KINDS.places) if fits_texts(kind))
        raise Fault(f"there is no such baseline for {task.learn.in_words} ({task.name}).", f"It is for {known}.")
    return transfer_kind_of(task.kind)


def _texts(examples: Sequence[Example]) -> Texts:
    return [example.texts for example in examples]
