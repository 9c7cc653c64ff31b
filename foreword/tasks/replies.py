"""How good replies are: near a person's (BLEU, NIST), different from each other (distinct, entropy), and not dull."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.tasks.metrics import Bleu, Mean, Metric, PairedDifference, difference, value
from foreword.text.words import HAN

_TOKEN = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['’][^\W_{HAN}]+)*|[^\w\s]")
_SENTENCE = re.compile(r"[.!?,;…。！？，；～~]+")
# what can be said to anything; a reply is dull if all of its sentences are among these
DULL = (
    *("i don't know", "i do not know", "i don't know what to say", "i'm not sure", "i am not sure", "i have no idea"),
    *("no idea", "i see", "ok", "okay", "yes", "no", "yeah", "well", "oh", "thank you", "i don't think so"),
    *("i don't understand", "嗯", "嗯嗯", "哦", "好", "好的", "是的", "不知道", "我不知道", "我也不知道", "不清楚"),
    *("谢谢", "呵呵", "哈哈"),
)


def tokens(text: str) -> list[str]:
    """Lower-case words and punctuation marks; each Chinese character stands alone."""
    return [token.lower() for token in _TOKEN.findall(text)]


def ngrams(said: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(said[i:] for i in range(n))))


# --- metrics as functions of sums ---------------------------------------------------------------------------------------


class Distinct(Metric):
    """Different n-grams as a share of all (Li et al. 2016); each example its n-grams."""

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        place = {gram: number for number, gram in enumerate(dict.fromkeys(gram for some in judged for gram in some))}
        found = np.zeros((len(judged), max(len(place), 1)), np.float32)
        for row, some in enumerate(judged):
            for gram, times in Counter(some).items():
                found[row, place[gram]] = times
        return found

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        return (sums > 0).sum(-1) / np.maximum(sums.sum(-1), 1)


class Entropy(Distinct):
    """Of the n-grams' distribution, in nats (Zhang et al. 2018)."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        shares = sums / np.maximum(sums.sum(-1, keepdims=True), 1)
        return -(shares * np.log(np.where(shares > 0, shares, 1))).sum(-1)


class Nist(Metric):
    """NIST (Doddington 2002); each example its matched information and number of n-grams by n, its length, the reference's."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        n = (sums.shape[-1] - 2) // 2
        counts, said, meant = sums[..., n : 2 * n], sums[..., -2], sums[..., -1]
        precision = (sums[..., :n] / np.where(counts > 0, counts, np.inf)).sum(-1)
        ratio = np.minimum(1.0, said / np.where(meant > 0, meant, np.inf))
        steepness = math.log(0.5) / math.log(1.5) ** 2  # half as good at two thirds of the length
        return np.where(ratio > 0, precision * np.exp(steepness * np.log(np.where(ratio > 0, ratio, 1)) ** 2), 0.0)


# --- from a reply and a person's in its place to what is summed ---------------------------------------------------------


@dataclass(frozen=True)
class ReplyMetric:
    name: str
    metric: Metric
    judge: Callable[[str, str], Any]  # of a reply and its reference
    better: int = 1  # 1: more is better; -1: less; 0: neither

    def judged(self, replies: Sequence[str], references: Sequence[str]) -> list[Any]:
        return [self.judge(reply, reference) for reply, reference in zip(replies, references)]

    def of(self, replies: Sequence[str], references: Sequence[str]) -> float:
        return value(self.metric, self.judged(replies, references))


def distinct(n: int) -> ReplyMetric:
    return ReplyMetric(f"distinct-{n}", Distinct(unit="%"), lambda reply, reference: ngrams(tokens(reply), n))


def entropy(n: int) -> ReplyMetric:
    return ReplyMetric(f"entropy-{n}", Entropy(1.0, 2), lambda reply, reference: ngrams(tokens(reply), n))


def dull(listed: Iterable[str] = DULL) -> ReplyMetric:
    known = {_plain(phrase) for phrase in listed}

    def is_dull(reply: str, reference: str) -> bool:
        said = [_plain(part) for part in _SENTENCE.split(reply)]
        return all(part in known for part in said if part)

    return ReplyMetric("dull replies", Mean(unit="%"), is_dull, better=-1)


def _plain(text: str) -> str:
    """Without apostrophes and spaces: "don ' t", "don’t" and "don't" are one word."""
    return re.sub(r"[\W_]", "", text.lower())


def bleu() -> ReplyMetric:
    return ReplyMetric("BLEU-4", Bleu(digits=2, chinese=True), lambda reply, reference: (reply, [reference]))


def nist(references: Sequence[str], n: int = 4) -> ReplyMetric:
    """Matched n-grams, each worth the information it carries in the references."""
    said = [tokens(reference) for reference in references]
    seen = Counter(gram for one in said for size in range(1, n + 1) for gram in ngrams(one, size))
    words = sum(map(len, said))

    def information(gram: tuple[str, ...]) -> float:
        return math.log2((seen[gram[:-1]] if len(gram) > 1 else words) / seen[gram])

    def judge(reply: str, reference: str) -> list[float]:
        said, meant = tokens(reply), tokens(reference)
        matched = [Counter(ngrams(said, size)) & Counter(ngrams(meant, size)) for size in range(1, n + 1)]
        return [
            *(sum(information(gram) * times for gram, times in each.items()) for each in matched),
            *(max(0, len(said) - size + 1) for size in range(1, n + 1)),
            len(said),
            len(meant),
        ]

    return ReplyMetric(f"NIST-{n}", Nist(1.0, 2), judge)


def length() -> ReplyMetric:
    return ReplyMetric("length", Mean(1.0, 2), lambda reply, reference: len(tokens(reply)), better=0)


def metrics(references: Sequence[str], dull_phrases: Iterable[str] = DULL) -> list[ReplyMetric]:
    """All of them, for replies to prompts that people answered with `references`."""
    return [bleu(), nist(references), distinct(1), distinct(2), entropy(4), length(), dull(dull_phrases)]


@dataclass(frozen=True)
class PairedReplies:
    """One system's replies beside another's to the same prompts: a metric of both, and the interval of the difference."""

    metric: ReplyMetric
    first: float
    second: float
    difference: PairedDifference

    @property
    def sign(self) -> int:
        """1: the second is significantly better; -1: worse; 0: it could be either."""
        return self.metric.better * self.difference.sign

    def __str__(self) -> str:
        first, second = map(self.metric.metric.shown, (self.first, self.second))
        return f"{self.metric.name} {first} -> {second} (difference {self.difference.cells[1]})"


def compared(
    metric: ReplyMetric, first: Sequence[str], second: Sequence[str], references: Sequence[str], seed: int = 0
) -> PairedReplies:
    one, two = (metric.judged(replies, references) for replies in (first, second))
    apart = difference(metric.metric, one, two, seed)
    return PairedReplies(metric, value(metric.metric, one), value(metric.metric, two), apart)
