"""Is this a sentence of the language? Yes if its mean token is likely enough (GPT-1 on CoLA, Radford et al. 2018, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from foreword.tasks.metrics import Matthews, Metric
from foreword.tasks.prompted.request import Judged, LikelihoodRequest, PromptedKind, Request
from foreword.tasks.template import Row, render


class Acceptability(PromptedKind):
    """Is a text likely enough, in the mean over its tokens, to be accepted?"""

    templated: ClassVar[tuple[str, ...]] = ("text", "gold")
    kind: Literal["acceptable"] = "acceptable"
    text: str
    gold: str  # the row says this ...
    yes: str = "1"  # ... of a text that is acceptable

    def requests(self, row: Row) -> list[Request]:
        return [LikelihoodRequest("", render(self.text, row))]

    def solved(self, row: Row) -> str:
        return render(self.text, row)

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        mean, gold = answers[0].mean, render(self.gold, row) == self.yes
        return Judged({"Matthews": (mean, gold)}, {"mean_log_probability": mean, "gold": gold})

    def metrics(self) -> dict[str, Metric]:
        return {"Matthews": CrossValidatedMatthews()}

    def scored(self, metric: str) -> str:
        return "per token, above a threshold"


class CrossValidatedMatthews(Matthews):
    """Matthews correlation where each half of the examples is judged by the threshold that is best for the other half.

    Each example is (score, gold). The paper does not say where its threshold comes from; one that was chosen on the very
    examples it is judged by would flatter.
    """

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        scores, golds = np.asarray([one[0] for one in judged]), np.asarray([one[1] for one in judged], bool)
        guesses = np.zeros(len(judged), bool)
        for half in (0, 1):
            guesses[half::2] = scores[half::2] >= self.threshold(scores[1 - half :: 2], golds[1 - half :: 2])
        return super().columns(list(zip(guesses, golds)))

    def threshold(self, scores: np.ndarray, golds: np.ndarray) -> float:
        """The lowest score to accept that gives the highest correlation; of equals the lowest."""
        tried = np.unique(scores)
        if not len(tried):
            return -np.inf
        found = [
            float(self.of(Matthews.columns(self, list(zip(scores >= one, golds))).sum(0), len(golds))) for one in tried
        ]
        return float(tried[int(np.argmax(found))])
