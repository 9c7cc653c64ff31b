"""Linear models of texts: counts, naive Bayes' counts, and vectors of texts side by side. Kept as plain files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors.numpy import load_file, save_file

from foreword.basics.files import JsonObject, read_json, write_json
from foreword.tasks.example import Example
from foreword.transfer.baselines import Embed, ModelVectors, Texts, TfIdf, library
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import Answer
from foreword.transfer.labeller_place import FILE, model_folder
from foreword.vectors.words import WordVectors, unit

EmbedOf = Callable[[Path], Embed]  # what a model in that folder makes of texts: opening models is not known here
Regression = Callable[[str, float], Any]  # (kind of task, strength) -> what scikit-learn calls an estimator


class UnitVectors(ModelVectors):
    """The same brought to length 1, as counts are; a text of which nothing is known stays all zeros."""

    source: ClassVar[str] = ""

    def of(self, texts: Texts) -> Any:
        raw = self._raw(texts)
        scaled = np.where(raw.any(1, keepdims=True), unit(self.scaler.transform(raw)), 0.0)
        return library("scipy.sparse").csr_matrix(scaled.astype(np.float32))


class OwnVectors(UnitVectors):
    """Vectors of words, rare ones weighing more."""

    source = "words"

    def __init__(self, path: Path):
        super().__init__(WordVectors.opened(path).features)
        self.path = path


class ModelFeatures(UnitVectors):
    """The mean of what a model makes of a text's tokens."""

    source = "model"

    def __init__(self, path: Path, embed: Embed):
        super().__init__(embed)
        self.path = path


Block = TfIdf | OwnVectors | ModelFeatures


def logistic(kind: str, strength: float) -> Any:
    """What the kind of task is regressed by: logistic regression, or ridge for numbers."""
    return transfer_kind_of(kind).regression(strength)


class NaiveBayesRegression:
    """Logistic regression on counts times naive Bayes' log-count ratios, class by class (Wang & Manning 2012)."""

    def __init__(self, strength: float):
        self.strength = strength

    def fit(self, features: Any, labels: Sequence[str]) -> NaiveBayesRegression:
        right = np.asarray(labels)
        self.classes_ = np.unique(right)
        rows = [self._one(features, right == name) for name in self.classes_[-1 if len(self.classes_) == 2 else 0 :]]
        self.coef_, self.intercept_ = np.stack([row for row, _ in rows]), np.asarray([bias for _, bias in rows])
        return self

    def _one(self, features: Any, mine: np.ndarray) -> tuple[np.ndarray, float]:
        inside, outside = (np.asarray(features[one].sum(0)).ravel() + 1.0 for one in (mine, ~mine))
        ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        model = library("sklearn.linear_model").LogisticRegression(C=self.strength, solver="liblinear")
        model.fit(features.multiply(ratio).tocsr(), mine)
        return model.coef_[0] * ratio, float(model.intercept_[0])


def naive_bayes(kind: str, strength: float) -> Any:
    return NaiveBayesRegression(strength)


@dataclass(frozen=True)
class Setting:
    """How much each block weighs, and how little the coefficients are held back."""

    weights: tuple[float, ...]
    strength: float

    def __str__(self) -> str:
        weighs = f"weights {', '.join(f'{one:g}' for one in self.weights)}, " if len(self.weights) > 1 else ""
        return f"{weighs}C {self.strength:g}"


@dataclass(frozen=True)
class LinearLabeller:
    """Fitted: classes with their shares, or a number."""

    kind: str
    labels: tuple[str, ...]  # () where numbers are predicted
    blocks: tuple[Block, ...]
    weights: tuple[float, ...]
    coefficients: np.ndarray  # [classes, features]; one row for two classes
    intercepts: np.ndarray

    def shares(self, examples: Sequence[Example]) -> np.ndarray:
        """[examples, labels]; of numbers [examples, 1]."""
        if not examples:
            return np.zeros((0, max(len(self.labels), 1)))
        logits = np.asarray(beside(self.blocks, self.weights, texts_of(examples)) @ self.coefficients.T)
        logits = logits.reshape(len(examples), -1) + self.intercepts
        if not self.labels:
            return logits
        if len(self.labels) == 2:
            second = 1 / (1 + np.exp(-logits[:, 0]))
            return np.stack([1 - second, second], 1)
        odds = np.exp(logits - logits.max(1, keepdims=True))
        return odds / odds.sum(1, keepdims=True)

    def answers(self, examples: Sequence[Example]) -> list[Answer]:
        return answers_of(self.labels, self.shares(examples))

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        arrays, blocks = {"coefficients": self.coefficients, "intercepts": self.intercepts}, []
        for place, block in enumerate(self.blocks):
            about, own = written(block, folder, place)
            blocks.append(about)
            arrays |= {f"{place}.{name}": array for name, array in own.items()}
        save_file({name: np.ascontiguousarray(one) for name, one in arrays.items()}, folder / "labeller.safetensors")
        about = {"labeller": "linear", "kind": self.kind, "labels": list(self.labels)}
        write_json(folder / FILE, {**about, "weights": list(self.weights), "blocks": blocks})

    @staticmethod
    def opened(folder: Path, embed_of: EmbedOf) -> LinearLabeller:
        said, arrays = read_json(folder / FILE), load_file(folder / "labeller.safetensors")
        blocks = tuple(read(one, place, arrays, folder, embed_of) for place, one in enumerate(said["blocks"]))
        labels, weights = tuple(said["labels"]), tuple(said["weights"])
        return LinearLabeller(said["kind"], labels, blocks, weights, arrays["coefficients"], arrays["intercepts"])


def fitted(
    kind: str,
    train: Sequence[Example],
    blocks: Sequence[Block],
    settings: Sequence[Setting],
    regression: Regression = logistic,
) -> list[LinearLabeller]:
    """One for each setting; the features are made once."""
    texts, right = texts_of(train), [example.label for example in train]
    for block in blocks:
        block.fit(texts)
    parts, found = [block.of(texts) for block in blocks], []
    for setting in settings:
        model = regression(kind, setting.strength)
        model.fit(stacked(parts, setting.weights), right)
        classes = tuple(map(str, getattr(model, "classes_", ())))
        coefficients = np.atleast_2d(np.asarray(model.coef_, np.float64))
        intercepts = np.atleast_1d(np.asarray(model.intercept_, np.float64))
        found.append(LinearLabeller(kind, classes, tuple(blocks), setting.weights, coefficients, intercepts))
    return found


def texts_of(examples: Sequence[Example]) -> Texts:
    return [example.texts for example in examples]


def stacked(parts: Sequence[Any], weights: Sequence[float]) -> Any:
    return library("scipy.sparse").hstack([weight * part for part, weight in zip(parts, weights)], format="csr")


def beside(blocks: Sequence[Block], weights: Sequence[float], texts: Texts) -> Any:
    return stacked([block.of(texts) for block in blocks], weights)


def answers_of(labels: Sequence[str], shares: np.ndarray) -> list[Answer]:
    """Of classes the likeliest, and how likely each is; else the number."""
    if not labels:
        return [Answer(float(one)) for one in shares[:, 0]]
    return [Answer(labels[int(row.argmax())], dict(zip(labels, row.tolist()))) for row in shares]


# --- files ------------------------------------------------------------------------------------------------------------


def written(block: Block, folder: Path, place: int) -> tuple[JsonObject, dict[str, np.ndarray]]:
    """(what JSON keeps of a block, its arrays). The model that vectors are from is kept beside it."""
    if isinstance(block, TfIdf):
        counter = block.counter
        about = {"source": "counts", "chinese": block.chinese, "characters": block.characters, "binary": block.binary}
        terms = {"seen": list(block.seen), "terms": counter.get_feature_names_out().tolist()}
        return about | terms, {} if block.binary else {"idf": counter.idf_}
    own = folder / f"{block.source}-{place}"
    shutil.copytree(model_folder(block.path), own, dirs_exist_ok=True)
    return {"source": block.source, "path": own.name}, {"mean": block.scaler.mean_, "scale": block.scaler.scale_}


def read(said: JsonObject, place: int, arrays: dict[str, np.ndarray], folder: Path, embed_of: EmbedOf) -> Block:
    if said["source"] == "counts":
        counts = TfIdf(tuple(said["seen"]), said["characters"], said["binary"])
        return counts.restored(said["chinese"], said["terms"], arrays.get(f"{place}.idf"))
    path = folder / Path(said["path"]).name
    block = OwnVectors(path) if said["source"] == "words" else ModelFeatures(path, embed_of(path))
    block.scaler = library("sklearn.preprocessing").StandardScaler()
    block.scaler.mean_, block.scaler.scale_ = arrays[f"{place}.mean"], arrays[f"{place}.scale"]
    block.scaler.n_features_in_ = len(block.scaler.mean_)
    return block
