"""The practitioner's first model: word vectors and TF-IDF side by side, read by logistic regression. No torch here.

How much the vectors weigh against the counts, and how strongly all is held back, cross-validation within the labels says.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from foreword.basics.files import read_json, write_json
from foreword.basics.packages import needed
from foreword.text.words import mostly_chinese
from foreword.vectors.words import WordVectors, unit

WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1.0)  # of the vectors; both sides have length 1
STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # C of logistic regression
FOLDS = 5
CHOSEN_ON = 4000  # labels at most that the two are chosen on
FEW_TEXTS = 600  # up to here, inner products are quicker than the features themselves (500 labels: half the time)
SUREST, TRUST = 0.6, 0.3  # self-training: of the texts, those labelled with most confidence; what such a label counts
# the student's vectors weigh this at most, and its C is this at least: its counts are to learn what vectors knew
LIGHTER, LOOSER = 0.3, 10.0
DOUBT = 0.5  # standard errors by which cross-validation may have the student worse
LONGEST = 3000  # characters of a text that counts are made of


def sklearn(part: str) -> Any:
    return needed(f"sklearn.{part}", "transfer", "a classifier of vectors and counts needs")


class WordCounts:
    """TF-IDF of words and pairs of words, and of 2 to 5 characters inside words; of 1 and 2 characters where it is Chinese."""

    def __init__(self, chinese: bool, characters: bool = True):
        self.chinese, self.characters = chinese, characters
        make = sklearn("feature_extraction.text").TfidfVectorizer
        same = {"sublinear_tf": True, "dtype": np.float32}
        self.parts: list[Any] = (
            [make(analyzer="char", ngram_range=(1, 2), **same)]
            if chinese
            else [make(token_pattern=r"(?u)\b\w+\b", ngram_range=(1, 2), **same)]
        )
        if characters and not chinese:
            self.parts.append(make(analyzer="char_wb", ngram_range=(2, 5), **same))

    def fit(self, texts: Sequence[str]) -> WordCounts:
        for part in self.parts:
            part.fit([text[:LONGEST] or " " for text in texts] + ["word"])  # so that something can be counted
        return self

    def of(self, texts: Sequence[str]) -> Any:
        sparse = needed("scipy.sparse", "transfer", "a classifier of vectors and counts needs")
        return sparse.hstack([part.transform([text[:LONGEST] for text in texts]) for part in self.parts], format="csr")


@dataclass(frozen=True)
class Scale:
    """Vectors of texts, each number brought to mean 0 and spread 1 over unlabelled text, and all to length 1."""

    vectors: WordVectors
    centre: np.ndarray
    spread: np.ndarray

    @staticmethod
    def over(vectors: WordVectors, texts: Sequence[str]) -> Scale:
        found = vectors.features(texts).astype(np.float64)
        found = found[found.any(1)] if found.any() else found
        return Scale(vectors, found.mean(0), np.maximum(found.std(0), 1e-6))

    def of(self, texts: Sequence[str]) -> np.ndarray:
        found = self.vectors.features(texts)
        return np.where(found.any(axis=1, keepdims=True), unit((found - self.centre) / self.spread), 0.0).astype(
            np.float32
        )


@dataclass(frozen=True)
class VectorClassifier:
    """Fitted. `weight` 0: the counts alone."""

    labels: tuple[str, ...]
    counts: WordCounts
    scale: Scale | None
    weight: float
    strength: float
    model: Any  # coefficients [classes, features] and intercepts [classes], as scikit-learn has them
    cost: float  # nats of a label, by cross-validation
    right: float  # share of labels, by cross-validation

    def features(self, texts: Sequence[str]) -> Any:
        return beside(self.counts.of(texts), self.scale.of(texts) if self.scale else None, self.weight)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """[texts, labels]"""
        return self.model.predict_proba(self.features(texts)) if texts else np.zeros((0, len(self.labels)))

    def predict(self, texts: Sequence[str]) -> list[str]:
        return [self.labels[place] for place in self.probabilities(list(texts)).argmax(1)]


def beside(counts: Any, vectors: np.ndarray | None, weight: float) -> Any:
    sparse = needed("scipy.sparse", "transfer", "a classifier of vectors and counts needs")
    return counts if vectors is None else sparse.hstack([counts, sparse.csr_matrix(weight * vectors)], format="csr")


def coordinates(counts: Any, vectors: np.ndarray | None, weight: float) -> Any:
    """The features, of few texts in at most as many coordinates as there are texts.

    Logistic regression that is held back evenly sees only inner products: in the axes that the texts span it fits the same.
    """
    if counts.shape[0] > FEW_TEXTS or counts.shape[0] >= counts.shape[1]:
        return beside(counts, vectors, weight)
    products = (counts @ counts.T).toarray().astype(np.float64)
    if vectors is not None:
        products += weight**2 * vectors.astype(np.float64) @ vectors.T
    sizes, axes = np.linalg.eigh(products)
    seen = sizes > 1e-9 * sizes[-1]
    return axes[:, seen] * np.sqrt(sizes[seen]) if seen.any() else beside(counts, vectors, weight)


def regression(strength: float) -> Any:
    return sklearn("linear_model").LogisticRegression(C=strength, max_iter=300)


def folds(labels: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(to fit on, to judge on), classes in their shares as far as they go; none where no class has two examples."""
    most = min(FOLDS, int(np.unique(labels, return_counts=True)[1].max()))
    if most < 2:
        return []
    split = sklearn("model_selection").StratifiedKFold(most, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class may have fewer examples than there are folds
        found = list(split.split(np.zeros(len(labels)), labels))
    return [(on, off) for on, off in found if len(np.unique(labels[on])) > 1]


def judged(model: Any, features: Any, labels: np.ndarray) -> np.ndarray:
    """[examples, 2]: nats of each label, and whether it is right. A class that was not fitted on is never right."""
    chances = model.predict_proba(features)
    own = np.minimum(np.searchsorted(model.classes_, labels), len(model.classes_) - 1)
    there = model.classes_[own] == labels
    cost = -np.log(np.maximum(np.where(there, chances[np.arange(len(own)), own], 0.0), 1e-12))
    return np.stack([cost, there & (chances.argmax(1) == own)], 1)


def error(apart: np.ndarray) -> float:
    """The standard error of a mean of differences."""
    return float(apart.std() / max(len(apart) - 1, 1) ** 0.5)


def fitted(
    texts: Sequence[str], labels: Sequence[str], scale: Scale | None, seed: int = 0, characters: bool = True
) -> VectorClassifier:
    """The weight and the strength whose labels cost least in cross-validation; no `scale`: the counts alone."""
    chinese = mostly_chinese(text[:LONGEST] for text in texts[:500])
    words = WordCounts(chinese, characters).fit(texts)
    counts, vectors = words.of(texts), scale.of(texts) if scale else None
    right, best = np.asarray(labels), (1.0 if scale else 0.0, 1.0, np.inf, 0.0)
    some = np.random.default_rng(seed).permutation(len(right))[:CHOSEN_ON]
    parts = folds(right[some], seed)
    for weight in (WEIGHTS if scale else (0.0,)) if parts else ():
        features = coordinates(counts[some], None if vectors is None else vectors[some], weight)
        for strength in STRENGTHS:
            found = [
                judged(regression(strength).fit(features[on], right[some][on]), features[off], right[some][off])
                for on, off in parts
            ]
            cost, share = np.concatenate(found).mean(0).tolist()
            best = min(best, (weight, strength, cost, share), key=lambda one: one[2])
    weight, strength, cost, share = best
    model = regression(strength).fit(beside(counts, vectors, weight), right)
    return VectorClassifier(tuple(map(str, model.classes_)), words, scale, weight, strength, model, cost, share)


def self_trained(
    teacher: VectorClassifier, texts: Sequence[str], labels: Sequence[str], more: Sequence[str], seed: int = 0
) -> tuple[VectorClassifier, tuple[float, float]]:
    """The teacher labels more texts, and a student learns from its surest labels too.

    (the student, or the teacher where cross-validation has the student worse by more than half a standard error; what share
    of labels each had right there). Of a few hundred labels it cannot tell a point more from a point less, and on text of the
    task's own kind the student is a little better.
    """
    words = WordCounts(teacher.counts.chinese, teacher.counts.characters).fit([*texts, *more])
    right, scale = np.asarray(labels), teacher.scale
    weight, strength = min(LIGHTER, teacher.weight), max(teacher.strength, LOOSER)

    def features(some: Sequence[str]) -> Any:
        return beside(words.of(some), scale.of(some) if scale else None, weight)

    own, others, before, after = features(texts), features(more), teacher.features(texts), teacher.features(more)
    stack = needed("scipy.sparse", "transfer", "a classifier of vectors and counts needs").vstack

    def student(on: np.ndarray) -> tuple[Any, Any]:
        first = regression(teacher.strength).fit(before[on], right[on])
        chances = first.predict_proba(after)
        surest = np.argsort(-chances.max(1), kind="stable")[: round(SUREST * len(more))]
        said = first.classes_[chances[surest].argmax(1)]
        shares = np.concatenate([np.ones(len(on)), np.full(len(surest), TRUST)])
        both = stack([own[on], others[surest]], format="csr")
        return first, regression(strength).fit(both, np.concatenate([right[on], said]), shares)

    found = []
    for on, off in folds(right, seed):
        first, second = student(on)
        found += [
            np.stack([judged(first, before[off], right[off])[:, 1], judged(second, own[off], right[off])[:, 1]], 1)
        ]
    each = np.concatenate(found) if found else np.zeros((1, 2))
    alone, taught = each.mean(0).tolist()
    shares = alone, taught
    if not found or alone - taught >= DOUBT * error(each[:, 0] - each[:, 1]):
        return teacher, shares
    model = student(np.arange(len(right)))[1]
    return replace(teacher, counts=words, weight=weight, strength=strength, model=model, right=taught), shares


def save(made: VectorClassifier, folder: Path) -> None:
    """classifier.json and classifier.safetensors, beside the vectors in a model folder."""
    assert made.scale is not None
    terms = [part.get_feature_names_out().tolist() for part in made.counts.parts]
    write_json(
        folder / "classifier.json",
        {
            "labels": list(made.labels),
            "chinese": made.counts.chinese,
            "characters": made.counts.characters,
            "weight": made.weight,
            "strength": made.strength,
            "cost": made.cost if np.isfinite(made.cost) else None,
            "right": made.right,
            "terms": terms,
        },
    )
    arrays = {"centre": made.scale.centre, "spread": made.scale.spread}
    arrays |= {"coefficients": made.model.coef_, "intercepts": made.model.intercept_}
    arrays |= {f"idf{place}": part.idf_ for place, part in enumerate(made.counts.parts)}
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / "classifier.safetensors")


def opened(path: Path) -> VectorClassifier:
    """What `save` wrote."""
    folder = path / "model" if (path / "model").is_dir() else path
    said, arrays = read_json(folder / "classifier.json"), load_file(folder / "classifier.safetensors")
    counts = WordCounts(said["chinese"], said["characters"])
    for place, (part, terms) in enumerate(zip(counts.parts, said["terms"])):
        part.vocabulary = {term: number for number, term in enumerate(terms)}
        part.idf_ = arrays[f"idf{place}"]
    model = regression(said["strength"])
    model.classes_ = np.asarray(said["labels"])
    model.coef_, model.intercept_ = arrays["coefficients"], arrays["intercepts"]
    scale = Scale(WordVectors.opened(path), arrays["centre"], arrays["spread"])
    cost = np.inf if said["cost"] is None else said["cost"]
    return VectorClassifier(
        tuple(said["labels"]), counts, scale, said["weight"], said["strength"], model, cost, said["right"]
    )


def is_classifier(path: Path) -> bool:
    return any((folder / "classifier.json").is_file() for folder in (path / "model", path))
