"""How good replies are: near a person's (BLEU, NIST), unlike each other (distinct, entropy), and not dull.

A metric looks at one reply at a time and then at all that it noted, so that the same notes, drawn again and again, say how
sure a difference is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*|[^\w\s]")
_SENTENCE = re.compile(r"[.!?,;…。！？，；～~]+")
# what can be said to anything; a reply is dull if all of its sentences are among these
DULL = ("i don't know", "i do not know", "i don't know what to say", "i'm not sure", "i am not sure", "i have no idea", "no idea",
        "i see", "ok", "okay", "yes", "no", "yeah", "well", "oh", "thank you", "i don't think so", "i don't understand",
        "嗯", "嗯嗯", "哦", "好", "好的", "是的", "不知道", "我不知道", "我也不知道", "不清楚", "谢谢", "呵呵", "哈哈")
DRAWS = 1000


def tokens(text: str) -> list[str]:
    """Lower-case words and punctuation marks; each Chinese character stands alone."""
    return [token.lower() for token in _TOKEN.findall(text)]


def grams(said: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(said[i:] for i in range(n))))


@dataclass(frozen=True)
class Metric:
    """`note` looks at a reply and a person's in its place; `sum_up` makes a number of what was noted."""

    name: str
    note: Callable[[str, str], Any]
    sum_up: Callable[[Sequence[Any]], float]
    better: int = 1              # 1: more is better; -1: less; 0: neither
    percent: bool = False

    def of(self, replies: Sequence[str], references: Sequence[str]) -> float:
        return self.sum_up([self.note(reply, reference) for reply, reference in zip(replies, references)])

    def shown(self, value: float, sign: bool = False) -> str:
        return f"{value:{'+' if sign else ''}.1%}" if self.percent else f"{value:{'+' if sign else ''}.2f}"


def distinct(n: int) -> Metric:
    """Different n-grams as a share of all (Li et al. 2016)."""
    def share(noted: Sequence[list]) -> float:
        every = [gram for grams in noted for gram in grams]
        return len(set(every)) / max(len(every), 1)
    return Metric(f"distinct-{n}", lambda reply, reference: grams(tokens(reply), n), share, percent=True)


def entropy(n: int) -> Metric:
    """Of the n-grams' distribution, in nats (Zhang et al. 2018)."""
    def nats(noted: Sequence[list]) -> float:
        counts = np.asarray(list(Counter(gram for grams in noted for gram in grams).values()), float)
        shares = counts / max(counts.sum(), 1)
        return float(-(shares * np.log(shares)).sum()) if len(counts) else 0.0
    return Metric(f"entropy-{n}", lambda reply, reference: grams(tokens(reply), n), nats)


def dull(listed: Iterable[str] = DULL) -> Metric:
    known = {_plain(phrase) for phrase in listed}

    def is_dull(reply: str, reference: str) -> bool:
        said = [_plain(part) for part in _SENTENCE.split(reply)]
        return all(part in known for part in said if part)
    return Metric("dull replies", is_dull, _mean, better=-1, percent=True)


def _plain(text: str) -> str:
    """Without apostrophes and spaces: "don ' t", "don’t" and "don't" are one word."""
    return re.sub(r"[\W_]", "", text.lower())


def bleu() -> Metric:
    """BLEU-4 of sacrebleu, in percent; Chinese by characters."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise Fault("BLEU needs the package sacrebleu.", "Install it:  pip install sacrebleu") from error
    scorers = {name: BLEU(effective_order=True, tokenize=name) for name in ("13a", "zh")}

    def note(reply: str, reference: str) -> Any:
        found = scorers["zh" if re.search(f"[{_HAN}]", reference) else "13a"].sentence_score(reply, [reference])
        return [*found.counts, *found.totals, found.sys_len, found.ref_len]

    def whole(noted: Sequence[Any]) -> float:
        summed = np.asarray(noted).sum(0).tolist()
        return BLEU.compute_bleu(summed[:4], summed[4:8], summed[8], summed[9], smooth_method="exp").score
    return Metric("BLEU-4", note, whole)


def nist(references: Sequence[str], n: int = 4) -> Metric:
    """NIST (Doddington 2002): matched n-grams, each worth the information it carries in the references."""
    seen: Counter[tuple[str, ...]] = Counter()
    words = 0
    for reference in references:
        said = tokens(reference)
        words += len(said)
        for size in range(1, n + 1):
            seen.update(grams(said, size))

    def worth(gram: tuple[str, ...]) -> float:
        return math.log2((seen[gram[:-1]] if len(gram) > 1 else words) / seen[gram])

    def note(reply: str, reference: str) -> list[float]:
        said, meant = tokens(reply), tokens(reference)
        matched = [Counter(grams(said, size)) & Counter(grams(meant, size)) for size in range(1, n + 1)]
        return [*(sum(worth(gram) * times for gram, times in each.items()) for each in matched),
                *(max(0, len(said) - size + 1) for size in range(1, n + 1)), len(said), len(meant)]

    def whole(noted: Sequence[list[float]]) -> float:
        *rest, said, meant = np.asarray(noted, float).sum(0).tolist()
        precision = sum(info / count for info, count in zip(rest[:n], rest[n:]) if count)
        ratio = min(1.0, said / meant) if meant else 0.0
        steepness = math.log(0.5) / math.log(1.5) ** 2        # half as good at two thirds of the length
        return precision * math.exp(steepness * math.log(ratio) ** 2) if ratio else 0.0
    return Metric(f"NIST-{n}", note, whole)


def length() -> Metric:
    return Metric("length", lambda reply, reference: len(tokens(reply)), _mean, better=0)


def _mean(noted: Sequence[float]) -> float:
    return float(np.mean(noted)) if len(noted) else 0.0


def metrics(references: Sequence[str], dull_phrases: Iterable[str] = DULL) -> list[Metric]:
    """All of them, for replies to prompts that people answered with `references`."""
    return [bleu(), nist(references), distinct(1), distinct(2), entropy(4), length(), dull(dull_phrases)]


@dataclass(frozen=True)
class Difference:
    """One system beside another on the same prompts."""

    metric: Metric
    first: float
    second: float
    low: float            # of second - first: 95 of 100 draws of the prompts lie between
    high: float

    @property
    def sign(self) -> int:
        """1: the second is surely better; -1: surely worse; 0: it could be either."""
        rises = 1 if self.low > 0 else -1 if self.high < 0 else 0
        return rises * self.metric.better

    def __str__(self) -> str:
        show = self.metric.shown
        return (f"{self.metric.name} {show(self.first)} -> {show(self.second)} "
                f"(difference {show(self.low, True)} to {show(self.high, True)})")


def compared(metric: Metric, first: Sequence[str], second: Sequence[str], references: Sequence[str], seed: int = 0,
             draws: int = DRAWS) -> Difference:
    """Both systems' replies to the same prompts, and to prompts drawn again from them (a paired bootstrap)."""
    noted = [[metric.note(reply, reference) for reply, reference in zip(replies, references)] for replies in (first, second)]
    found = []
    for draw in range(draws):
        chosen = chance(seed, draw).integers(len(references), size=len(references))
        one, two = (metric.sum_up([notes[i] for i in chosen]) for notes in noted)
        found.append(two - one)
    low, high = np.quantile(found, [0.025, 0.975]).tolist()
    return Difference(metric, metric.sum_up(noted[0]), metric.sum_up(noted[1]), low, high)
