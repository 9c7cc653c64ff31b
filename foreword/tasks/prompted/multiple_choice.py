"""Choose: each choice is a completion of one context, and the likeliest is the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from foreword.tasks.choices import ChoiceSettings
from foreword.tasks.metrics import Metric, Proportion
from foreword.tasks.prompted.request import Judged, Likelihood, LikelihoodRequest, PromptedKind, Request
from foreword.tasks.template import Row, render

# of a choice, its likelihood given the context, and given almost nothing (where that was asked)
NORMALISE: dict[str, Callable[[str, Likelihood, Any], float]] = {
    "sum": lambda choice, given, alone: given.total,
    "token": lambda choice, given, alone: given.mean,
    "byte": lambda choice, given, alone: given.total / max(len(choice.encode("utf-8")), 1),
    "unconditional": lambda choice, given, alone: given.total - alone.total,
}
WORDS = {"sum": "summed", "token": "per token", "byte": "per byte", "unconditional": "minus unconditional"}


class ChoosesByLikelihood(ChoiceSettings, PromptedKind):
    """One of several choices is right."""

    own_fields: ClassVar[tuple[str, ...]] = ("choice",)

    def chance(self, row: Row) -> float | None:
        return 1 / len(self.offered(row))


class LikeliestChoice(ChoosesByLikelihood):
    """Which completion of the context is likeliest?"""

    templated: ClassVar[tuple[str, ...]] = ("context", "choices", "gold", "completion")
    kind: Literal["choice"] = "choice"
    context: str
    completion: str = " {choice}"
    normalise: tuple[Literal["sum", "token", "byte", "unconditional"], ...] = ("token",)
    alone: str = "Answer:"  # what the unconditional likelihood is given instead of the context

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        if not self.normalise:
            found.append(("normalise", f"at least one of {', '.join(NORMALISE)} is needed."))
        if "{choice}" not in self.completion:
            found.append(("completion", f"the choice itself, {{choice}}, is not in it (it says {self.completion!r})."))
        return found

    def completions(self, row: Row) -> list[str]:
        return [render(self.completion, {**row, "choice": choice}) for choice in self.offered(row)]

    def requests(self, row: Row) -> list[Request]:
        context = render(self.context, row)
        self.right(row)
        asked: list[Request] = [LikelihoodRequest(context, text) for text in self.completions(row)]
        if "unconditional" in self.normalise:
            asked += [LikelihoodRequest(self.alone, text, shots=False) for text in self.completions(row)]
        return asked

    def solved(self, row: Row) -> str:
        return render(self.context, row) + self.completions(row)[self.right(row)]

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        choices, right = self.offered(row), self.right(row)
        given, unconditional = answers[: len(choices)], answers[len(choices) :] or [None] * len(choices)
        scores = {name: list(map(NORMALISE[name], choices, given, unconditional)) for name in self.normalise}
        values = {self._metric(name): likeliest(some) == right for name, some in scores.items()}
        guess = likeliest(scores[self.normalise[0]])
        return Judged(values, {"choices": self.completions(row), "scores": scores, "gold": right, "guess": guess})

    def metrics(self) -> dict[str, Metric]:
        return {self._metric(name): Proportion() for name in self.normalise}

    def _metric(self, normalise: str) -> str:
        return "accuracy" if normalise == self.normalise[0] else f"accuracy, {normalise}"

    def scored(self, metric: str) -> str:
        return next(WORDS[name] for name in self.normalise if self._metric(name) == metric)


def likeliest(scores: Sequence[float]) -> int:
    """The place of the highest; of equals the first."""
    return max(range(len(scores)), key=scores.__getitem__)
