"""Logistic regression on hashed counts of words or characters, in numpy: small enough to be learned where it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foreword.basics.files import write_atomically
from foreword.text.dedup import word_hashes

BUCKETS = 2**18
STEPS, RATE, DECAY = 200, 0.3, 1e-5  # full-batch Adam: no order of examples, the same weights on every machine
_ODD = np.uint64(0x9E3779B97F4A7C15)
LONGEST = 4  # characters in a row
Features = tuple[np.ndarray, np.ndarray, np.ndarray]  # bucket and value of each entry, and where each text ends


def word_features(text: str) -> np.ndarray:
    """Hashes of words, and of two in a row."""
    words = word_hashes(text.lower().encode("utf-8", "surrogatepass"))[0]
    return np.concatenate([words, _run(words, 2)])


def character_features(text: str) -> np.ndarray:
    """Hashes of one to four characters in a row, of the first two thousand."""
    signs = np.frombuffer(f" {text[:2000].lower()} ".encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    return np.concatenate([_run(signs, size) for size in range(1, LONGEST + 1)])


def _run(codes: np.ndarray, size: int) -> np.ndarray:
    count = max(0, len(codes) - size + 1)
    mixed = np.full(count, size, np.uint64)
    for place in range(size):
        mixed += codes[place : place + count]
        mixed *= _ODD
        mixed ^= mixed >> np.uint64(29)
    return mixed


FEATURES = {"words": word_features, "characters": character_features}


def features(texts: Sequence[str], kind: str) -> Features:
    """Of each text: the buckets it has, with values whose squares add up to one."""
    buckets, values, ends = [], [], []
    at = 0
    for text in texts:
        found, counts = np.unique(FEATURES[kind](text) >> np.uint64(64 - 18), return_counts=True)
        weights = np.sqrt(counts)
        buckets.append(found.astype(np.int64))
        values.append(weights / max(np.sqrt((weights**2).sum()), 1e-9))
        at += len(found)
        ends.append(at)
    return np.concatenate(buckets), np.concatenate(values), np.asarray(ends)


class Classifier:
    """One weight for each bucket and label; with one label, the probability of it."""

    def __init__(self, kind: str, labels: Sequence[str], weights: np.ndarray, biases: np.ndarray):
        self.kind, self.labels, self.weights, self.biases = kind, list(labels), weights, biases

    @staticmethod
    def learned(kind: str, texts: Sequence[str], truth: Sequence[str], labels: Sequence[str]) -> Classifier:
        rows, given = features(texts, kind), np.asarray(truth)
        found = [_fit(rows, (given == label).astype(float)) for label in labels]
        return Classifier(kind, labels, np.stack([one[0] for one in found]), np.asarray([one[1] for one in found]))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """[texts, labels]"""
        rows = features(texts, self.kind)
        scores = [_sums(rows, weights) + bias for weights, bias in zip(self.weights, self.biases)]
        each = 1 / (1 + np.exp(-np.stack(scores, 1)))
        return each if len(self.labels) == 1 else each / each.sum(1, keepdims=True)

    def save(self, path: Path) -> None:
        def write(partial: Path) -> None:
            with open(partial, "wb") as file:
                np.savez(file, weights=self.weights, biases=self.biases, labels=np.asarray(self.labels))

        write_atomically(path, write)

    @staticmethod
    def load(kind: str, path: Path) -> Classifier:
        with np.load(path) as there:
            return Classifier(kind, there["labels"].tolist(), there["weights"], there["biases"])


def _sums(rows: Features, weights: np.ndarray) -> np.ndarray:
    buckets, values, ends = rows
    total = np.concatenate([[0.0], np.cumsum(weights[buckets] * values)])
    return total[ends] - total[np.concatenate([[0], ends[:-1]])]


def _fit(rows: Features, truth: np.ndarray) -> tuple[np.ndarray, float]:
    """Only the buckets that occur are learned: many fewer than there are."""
    buckets, values, ends = rows
    used, places = np.unique(buckets, return_inverse=True)
    owner = np.repeat(np.arange(len(ends)), np.diff(np.concatenate([[0], ends])))
    weights = np.zeros(len(used) + 1)  # the bias is the last
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = _sums((places, values, ends), weights[:-1]) + weights[-1]
        wrong = (1 / (1 + np.exp(-scores)) - truth) / len(truth)
        gradient = np.append(np.bincount(places, wrong[owner] * values, len(used)), wrong.sum()) + DECAY * weights
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    whole = np.zeros(BUCKETS, np.float32)
    whole[used] = weights[:-1]
    return whole, float(weights[-1])


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """How often a good one scores above a bad one; half where they are equal."""
    order = np.sort(scores[~truth])
    below = np.searchsorted(order, scores[truth], "left")
    upto = np.searchsorted(order, scores[truth], "right")
    return float((below + upto).mean() / 2 / max(len(order), 1))
