"""How many stars? Each rating is a completion of the review; their probabilities give a guess and an expectation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from foreword.tasks.example import UnusableExample
from foreword.tasks.metrics import Mean, Metric, Spearman
from foreword.tasks.prompted.request import Judged, LikelihoodRequest, PromptedKind, Request
from foreword.tasks.template import Row, render


class Rating(PromptedKind):
    """The expected rating, sum_k k p(k); with `neutral`, p(k) is weighed against how likely its words are after that."""

    templated: ClassVar[tuple[str, ...]] = ("context", "gold", "completion")
    own_fields: ClassVar[tuple[str, ...]] = ("rating",)
    kind: Literal["rating"] = "rating"
    context: str  # "{text} I'd rate it"
    gold: str  # a number
    ratings: tuple[float, ...] = (1, 2, 3, 4, 5)
    completion: str = " {rating} out of 5"
    neutral: str = ""  # "I'd rate it": calibrates

    def faults(self) -> list[tuple[str, str]]:
        too_few = [] if len(set(self.ratings)) > 1 else [("ratings", "there must be at least two different ratings.")]
        return super().faults() + too_few

    def completions(self, row: Row) -> list[str]:
        return [render(self.completion, {**row, "rating": f"{rating:g}"}) for rating in self.ratings]

    def right(self, row: Row) -> float:
        try:
            return float(render(self.gold, row))
        except ValueError as error:
            raise UnusableExample(f"its rating {render(self.gold, row)!r} is no number") from error

    def requests(self, row: Row) -> list[Request]:
        self.right(row)
        context, texts = render(self.context, row), self.completions(row)
        asked: list[Request] = [LikelihoodRequest(context, text) for text in texts]
        return asked + [LikelihoodRequest(self.neutral, text, shots=False) for text in texts if self.neutral]

    def solved(self, row: Row) -> str:
        return render(self.context, row) + render(self.completion, {**row, "rating": f"{self.right(row):g}"})

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        totals, gold = np.array([one.total for one in answers]), self.right(row)
        logs = totals[: len(self.ratings)] - (totals[len(self.ratings) :] if self.neutral else 0.0)
        likely = np.exp(logs - logs.max())
        likely /= likely.sum()
        expected = float(likely @ np.array(self.ratings))
        nearest = self.ratings[int(np.argmax(likely))]
        return Judged(
            {"rank correlation": (expected, gold), "mean error": abs(expected - gold), "accuracy": nearest == gold},
            {"probabilities": likely.tolist(), "expected": expected, "gold": gold},
        )

    def metrics(self) -> dict[str, Metric]:
        return {"rank correlation": Spearman(), "mean error": Mean(scale=1.0, digits=2), "accuracy": Mean()}

    def scored(self, metric: str) -> str:
        return "minus unconditional" if self.neutral else "summed"
