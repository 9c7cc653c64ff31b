"""Tags by logistic regression on a word and those around it (hashed), then the likeliest path of tags through the sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from foreword.basics.files import read_json, write_json
from foreword.tasks.example import Example
from foreword.text.words import has_chinese
from foreword.transfer.baselines import library
from foreword.transfer.kinds.base import Answer
from foreword.transfer.labeller_place import FILE
from foreword.transfer.linear import EmbedOf

BITS = 18  # features are hashed into so many
PASSES = 8
WINDOW = 2  # words to either side


def shape(word: str) -> str:
    """Xx for New, d for 12: what a word looks like."""
    signs = ["X" if one.isupper() else "x" if one.islower() else "d" if one.isdigit() else one for one in word]
    return "".join(one for one, before in zip(signs, ["", *signs]) if one != before)[:6]


def features(words: Sequence[str]) -> Iterator[list[str]]:
    """Of each word: itself and its neighbours, pairs of neighbours, its beginning, end and shape."""
    edge = ["<"] * WINDOW + list(words) + [">"] * WINDOW
    lower = [word.lower() for word in edge]
    for here in range(WINDOW, len(edge) - WINDOW):
        word = edge[here]
        found = [f"{place}={lower[here + place]}" for place in range(-WINDOW, WINDOW + 1)]
        found += [f"{place}+={lower[here + place]} {lower[here + place + 1]}" for place in range(-WINDOW, WINDOW)]
        found += [f"skip={lower[here - 1]} {lower[here + 1]}", f"shape={shape(word)}"]
        if not has_chinese(word):
            found += [f"begin{n}={word[:n]}" for n in (2, 3)] + [f"end{n}={word[-n:]}" for n in (2, 3)]
            found += [f"shape{place}={shape(edge[here + place])}" for place in (-1, 1)]
        yield found


def words_of(example: Example) -> list[str]:
    return [word.text for word in example.words]


@dataclass(frozen=True)
class WindowTagger:
    labels: tuple[str, ...]
    coefficients: np.ndarray  # [tags, features] float32
    intercepts: np.ndarray  # [tags]
    steps: np.ndarray  # [tags + 1, tags]: log-probability of a tag after another; the last row is the beginning

    def answers(self, examples: Sequence[Example]) -> list[Answer]:
        rows = [one for example in examples for one in features(words_of(example))]
        ends = np.cumsum([len(example.words) for example in examples])[:-1]
        logits = np.asarray(hashed(rows) @ self.coefficients.T) + self.intercepts if rows else np.zeros((0, 1))
        logs = logits - np.logaddexp.reduce(logits, 1, keepdims=True) if rows else logits
        return [Answer(tuple(self.labels[tag] for tag in self._path(part))) for part in np.split(logs, ends)]

    def _path(self, logs: np.ndarray) -> list[int]:
        """Viterbi."""
        if not len(logs):
            return []
        best, back = self.steps[-1] + logs[0], []
        for row in logs[1:]:
            through = best[:, None] + self.steps[:-1]
            back.append(through.argmax(0))
            best = through.max(0) + row
        path = [int(best.argmax())]
        for one in reversed(back):
            path.append(int(one[path[-1]]))
        return path[::-1]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"coefficients": self.coefficients, "intercepts": self.intercepts, "steps": self.steps}
        save_file({name: np.ascontiguousarray(one) for name, one in arrays.items()}, folder / "labeller.safetensors")
        write_json(folder / FILE, {"labeller": "windows", "kind": "tag", "labels": list(self.labels)})

    @staticmethod
    def opened(folder: Path, embed_of: EmbedOf) -> WindowTagger:
        said, arrays = read_json(folder / FILE), load_file(folder / "labeller.safetensors")
        return WindowTagger(tuple(said["labels"]), arrays["coefficients"], arrays["intercepts"], arrays["steps"])


def hashed(rows: Sequence[Sequence[str]]) -> Any:
    """A sparse matrix of scipy's."""
    return (
        library("sklearn.feature_extraction")
        .FeatureHasher(2**BITS, input_type="string", dtype=np.float32)
        .transform(rows)
    )


def fit_tagger(train: Sequence[Example], labels: Sequence[str], penalty: float) -> WindowTagger:
    rows = [one for example in train for one in features(words_of(example))]
    right = np.asarray([labels.index(tag) for example in train for tag in example.tags])
    model = library("sklearn.linear_model").SGDClassifier(
        loss="log_loss", alpha=penalty, max_iter=PASSES, tol=None, average=True, random_state=0
    )
    model.fit(hashed(rows), right)
    places = model.classes_.astype(int)
    coefficients = np.zeros((len(labels), 2**BITS), np.float32)
    intercepts = np.full(len(labels), -30.0)  # a tag that train does not have
    if len(places) == 2:  # one row tells two classes apart
        coefficients[places[1]], intercepts[places] = model.coef_[0], (0.0, model.intercept_[0])
    else:
        coefficients[places], intercepts[places] = model.coef_, model.intercept_
    return WindowTagger(tuple(labels), coefficients, intercepts, transitions(train, labels))


def transitions(train: Sequence[Example], labels: Sequence[str]) -> np.ndarray:
    """Log-probabilities relative to how frequent the tag is: regression has counted that already. Never seen: hardly possible."""
    counts = np.full((len(labels) + 1, len(labels)), 1e-3)
    for example in train:
        path = [labels.index(tag) for tag in example.tags]
        for before, tag in zip([len(labels), *path], path):
            counts[before, tag] += 1
    share = counts[:-1].sum(0) / counts[:-1].sum()
    return np.log(counts / counts.sum(1, keepdims=True)) - np.log(share)
