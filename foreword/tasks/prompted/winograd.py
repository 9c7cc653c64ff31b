"""Put each choice in the gap and see how well the sentence goes on: Winograd schemas (Trinh and Le 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from foreword.tasks.metrics import Metric, Proportion
from foreword.tasks.prompted.multiple_choice import NORMALISE, WORDS, ChoosesByLikelihood, likeliest
from foreword.tasks.prompted.request import Judged, LikelihoodRequest, Request
from foreword.tasks.template import Row, render


class LikeliestContext(ChoosesByLikelihood):
    """In which context is the same continuation likeliest? `full` charges for the choice as well."""

    templated: ClassVar[tuple[str, ...]] = ("before", "choices", "after", "gold", "choice")
    kind: Literal["partial"] = "partial"
    before: str  # up to the gap
    after: str  # from the gap on: what is scored
    choice: str = " {choice}"  # a choice in the gap
    scoring: Literal["partial", "full"] = "partial"
    normalise: Literal["sum", "token"] = "sum"

    def filled(self, row: Row) -> list[tuple[str, str, str]]:
        """(before, the choice in the gap, after) of each choice."""
        before, after = render(self.before, row), render(self.after, row)
        return [(before, render(self.choice, {**row, "choice": choice}), after) for choice in self.offered(row)]

    def requests(self, row: Row) -> list[Request]:
        self.right(row)
        if self.scoring == "full":
            return [LikelihoodRequest(before, choice + after) for before, choice, after in self.filled(row)]
        return [LikelihoodRequest(before + choice, after) for before, choice, after in self.filled(row)]

    def solved(self, row: Row) -> str:
        return "".join(self.filled(row)[self.right(row)])

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        scores = [NORMALISE[self.normalise]("", found, None) for found in answers]
        guess, right = likeliest(scores), self.right(row)
        return Judged(
            {"accuracy": guess == right},
            {"choices": self.offered(row), "scores": {self.normalise: scores}, "gold": right, "guess": guess},
        )

    def metrics(self) -> dict[str, Metric]:
        return {"accuracy": Proportion()}

    def scored(self, metric: str) -> str:
        return f"{self.scoring}, {WORDS[self.normalise]}" if self.normalise != "sum" else self.scoring
