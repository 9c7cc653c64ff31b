"""Two sentences that differ in little: is the right one likelier? (Linzen et al. 2016; BLiMP, Warstadt et al. 2020)"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from foreword.tasks.metrics import Mean, Metric
from foreword.tasks.prompted.request import Judged, Likelihood, LikelihoodRequest, PromptedKind, Request
from foreword.tasks.template import Row, render

SCORES: dict[str, Callable[[str, Likelihood], float]] = {
    "accuracy": lambda text, found: found.total,
    "accuracy, byte": lambda text, found: found.total / max(len(text.encode("utf-8")), 1),
    # "the hyena sat" may be less likely only because hyenas are rare
    "accuracy, unigram": lambda text, found: found.total - found.unigram,
}
WORDS = {"accuracy": "summed", "accuracy, byte": "per byte", "accuracy, unigram": "minus that of the tokens alone"}


class MinimalPair(PromptedKind):
    """Is the good sentence likelier than the bad one? A tie is half right."""

    templated: ClassVar[tuple[str, ...]] = ("good", "bad")
    kind: Literal["minimal_pair"] = "minimal_pair"
    good: str = "{good|sentence_good}"  # ours, BLiMP's
    bad: str = "{bad|sentence_bad}"

    def requests(self, row: Row) -> list[Request]:
        return [LikelihoodRequest("", render(text, row), shots=False) for text in (self.good, self.bad)]

    def solved(self, row: Row) -> str:
        return render(self.good, row)

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        texts = [render(self.good, row), render(self.bad, row)]
        scores = {name: [score(*one) for one in zip(texts, answers)] for name, score in SCORES.items()}
        values = {name: None if math.isnan(sum(both)) else _won(*both) for name, both in scores.items()}
        return Judged(values, {"sentences": texts, "scores": scores})

    def metrics(self) -> dict[str, Metric]:
        return {name: Mean() for name in SCORES}

    def chance(self, row: Row) -> float | None:
        return 0.5

    def scored(self, metric: str) -> str:
        return WORDS[metric]


def _won(good: float, bad: float) -> float:
    return 0.5 if math.isclose(good, bad, rel_tol=1e-9, abs_tol=1e-9) else float(good > bad)
