"""What judged answers are worth together. Every metric is a function of sums over examples, so all can be resampled alike."""

from __future__ import annotations

import importlib
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from foreword.basics.messages import Fault
from foreword.tasks.intervals import bootstrap, wilson

Interval = tuple[float, float]


class Metric(Protocol):
    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        """[examples, n]: of each example what is to be added up."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        """The metric from the sums [..., n]."""

    def interval(self, judged: Sequence[Any]) -> Interval: ...

    def shown(self, value: float) -> str: ...


class Mean:
    """The average of one number per example; `scale` 100 shows it as a percentage."""

    def __init__(self, scale: float = 100.0, digits: int = 1):
        self.scale, self.digits = scale, digits

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        return np.asarray(judged, np.float64)[:, None]

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        return sums[..., 0] / examples

    def interval(self, judged: Sequence[Any]) -> Interval:
        return bootstrap(self.columns(judged), self.of)

    def shown(self, value: float) -> str:
        return f"{value * self.scale:.{self.digits}f}"


class Share(Mean):
    """How many are right: each example True or False."""

    def interval(self, judged: Sequence[Any]) -> Interval:
        return wilson(sum(map(bool, judged)), len(judged))


class Perplexity(Mean):
    """exp of the mean cost; each example its nats."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(sums[..., 0] / examples)

    def shown(self, value: float) -> str:
        return f"{value:,.{2 if value < 1000 else 0}f}" if value < 1e6 else f"{value:.1e}"


class Matthews(Mean):
    """Matthews correlation of two yes-or-no answers; each example (guess, gold)."""

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        guess, gold = np.asarray(judged, bool).T
        return np.stack([guess & gold, ~guess & ~gold, guess & ~gold, ~guess & gold], 1).astype(np.float64)

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        tp, tn, fp, fn = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
        below = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return np.where(below > 0, (tp * tn - fp * fn) / np.where(below > 0, below, 1), 0.0)


class Bleu(Mean):
    """BLEU of the whole set by sacrebleu; each example (what was written, [references])."""

    def __init__(self) -> None:
        super().__init__(scale=1.0)
        try:
            self.library: Any = importlib.import_module("sacrebleu.metrics").BLEU(effective_order=False)
        except ImportError as error:
            raise Fault("BLEU needs the package sacrebleu.", "Install it:  pip install 'foreword[tasks]'") from error

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        found = [self.library.corpus_score([text], [[reference] for reference in references]) for text, references in judged]
        return np.asarray([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in found], np.float64)

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        rows = np.asarray(sums, np.float64).reshape(-1, sums.shape[-1])
        n = (rows.shape[1] - 2) // 2
        found = [self.library.compute_bleu(list(row[:n]), list(row[n: 2 * n]), int(row[-2]), int(row[-1]),
                                           smooth_method=self.library.smooth_method).score for row in rows]
        return np.asarray(found).reshape(sums.shape[:-1])


def value(metric: Metric, judged: Sequence[Any]) -> float:
    """The metric over all examples."""
    return float(metric.of(metric.columns(judged).sum(0), len(judged)))


def difference(metric: Metric, first: Sequence[Any], second: Sequence[Any]) -> tuple[float, Interval]:
    """second - first on the same examples, and where it lies when the same examples are drawn again for both."""
    a, b = metric.columns(first), metric.columns(second)
    n = a.shape[1]

    def apart(sums: np.ndarray, examples: int) -> np.ndarray:
        return metric.of(sums[..., n:], examples) - metric.of(sums[..., :n], examples)

    both = np.concatenate([a, b], 1)
    return float(apart(both.sum(0), len(both))), bootstrap(both, apart)


# --- one answer beside its references --------------------------------------------------------------------------------

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """As SQuAD compares answers: small letters, no punctuation, no articles, single spaces (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(guess: str, references: Sequence[str]) -> float:
    return float(any(normalised(guess) == normalised(reference) for reference in references))


def word_f1(guess: str, references: Sequence[str]) -> float:
    """Overlap in words with the nearest reference."""
    return max(_f1(normalised(guess).split(), normalised(reference).split()) for reference in references)


def _f1(guess: list[str], gold: list[str]) -> float:
    if not guess or not gold:
        return float(guess == gold)
    return f_measure((Counter(guess) & Counter(gold)).total(), len(guess), len(gold))


def f_measure(shared: int, guessed: int, right: int) -> float:
    """The harmonic mean of shared / guessed and shared / right."""
    return 2 * shared / (guessed + right) if guessed + right else 0.0


def same_text(guess: str, references: Sequence[str]) -> float:
    """Equal but for white space around."""
    return float(guess.strip() in {reference.strip() for reference in references})


_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


def rouge(order: int | None) -> Callable[[str, Sequence[str]], float]:
    """ROUGE-n, or ROUGE-L for None: the F-measure with the best reference (Lin 2004), without stemming."""
    def score(guess: str, references: Sequence[str]) -> float:
        return max(_rouge(_words(guess), _words(reference), order) for reference in references)
    return score


def _words(text: str) -> list[str]:
    return [word for word in _NOT_A_WORD.split(text.lower()) if word]


def _rouge(guess: list[str], gold: list[str], order: int | None) -> float:
    if order is None:
        return f_measure(_common(guess, gold), len(guess), len(gold))
    grams = [Counter(zip(*(words[i:] for i in range(order)))) for words in (guess, gold)]
    return f_measure((grams[0] & grams[1]).total(), grams[0].total(), grams[1].total())


def _common(first: list[str], second: list[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        corner = 0
        for i, other in enumerate(second, 1):
            corner, row[i] = row[i], corner + 1 if word == other else max(row[i], row[i - 1])
    return row[-1]


TEXT: dict[str, Callable[[str, Sequence[str]], float]] = {
    "exact": same_text, "exact_match": exact_match, "f1": word_f1,
    "rouge1": rouge(1), "rouge2": rouge(2), "rougeL": rouge(None),
}


def finite(number: float) -> float | None:
    """For JSON, which has no infinity."""
    return number if math.isfinite(number) else None
