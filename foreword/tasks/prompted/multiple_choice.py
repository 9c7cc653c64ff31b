"""Choose: each choice is a completion of one context, and the likeliest is the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from foreword.tasks.example import right_place
from foreword.tasks.metrics import Metric, Share
from foreword.tasks.prompted.request import Judged, Likelihood, LikelihoodRequest, PromptedKind, Request
from foreword.tasks.template import Row, items, render


@dataclass(frozen=True)
class Completion:
    """A choice as it was weighed."""

    choice: str
    conditional: Likelihood  # given the context
    unconditional: Likelihood | None = None  # given almost nothing


def _apart(one: Completion) -> float:
    return one.conditional.total - (one.unconditional.total if one.unconditional else 0.0)


NORMALISE: dict[str, Callable[[Completion], float]] = {
    "sum": lambda one: one.conditional.total,
    "token": lambda one: one.conditional.mean,
    "byte": lambda one: one.conditional.total / max(len(one.choice.encode("utf-8")), 1),
    "unconditional": _apart,
}
WORDS = {"sum": "summed", "token": "per token", "byte": "per byte", "unconditional": "minus unconditional"}


class AmongChoices(PromptedKind):
    """One of several choices is right."""

    own_fields: ClassVar[tuple[str, ...]] = ("choice",)
    choices: str | tuple[str, ...]  # a field that holds a list, or a template for each
    gold: str  # its place, counted from 0; or one of `labels`
    labels: tuple[str, ...] = ()  # what the right answer is called, for each choice; "A|1" is either

    def offered(self, row: Row) -> list[str]:
        """The choices of one example; empty ones are not choices."""
        if isinstance(self.choices, str):
            return items(self.choices, row)
        return [text for template in self.choices if (text := render(template, row)).strip()]

    def right(self, row: Row) -> int:
        """The place of the right choice."""
        return right_place(render(self.gold, row), self.labels, len(self.offered(row)))

    def chance(self, row: Row) -> float | None:
        return 1 / len(self.offered(row))


class LikeliestChoice(AmongChoices):
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
        weighed = [Completion(*one) for one in zip(choices, given, unconditional)]
        values, shown = {}, {}
        for name in self.normalise:
            scores = [NORMALISE[name](one) for one in weighed]
            values[self._metric(name)] = likeliest(scores) == right
            shown[name] = scores
        return Judged(
            values,
            {
                "choices": self.completions(row),
                "scores": shown,
                "gold": right,
                "guess": likeliest(shown[self.normalise[0]]),
            },
        )

    def metrics(self) -> dict[str, Metric]:
        return {self._metric(name): Share() for name in self.normalise}

    def _metric(self, normalise: str) -> str:
        return "accuracy" if normalise == self.normalise[0] else f"accuracy, {normalise}"

    def scored(self, metric: str) -> str:
        return next(WORDS[name] for name in self.normalise if self._metric(name) == metric)


def likeliest(scores: Sequence[float]) -> int:
    """The place of the highest; of equals the first."""
    return max(range(len(scores)), key=scores.__getitem__)
