"""Stepwise: which class is a pair of texts of? Guessed in several steps, whose mean decides (Liu et al. 2019, MT-DNN, 3)."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor

from foreword.basics.numbers import Share, Size
from foreword.networks.base import Model, Output
from foreword.objectives.classify import Classify
from foreword.objectives.examples import ExampleBatch
from foreword.parts.san import AnswerNetwork, Order, two_texts


class Stepwise(Classify):
    """Classify with a stochastic answer network. A class costs minus the logarithm of its mean probability."""

    kind: Literal["stepwise"] = "stepwise"  # type: ignore[assignment]
    problem_type: ClassVar[str] = ""
    steps: Size = 5
    skip: Share = 0.1  # chance that a step is left out of the mean in training
    order: Order = "paper"

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        if not 0 <= self.skip < 1:
            found.append(("skip", f"skip must be at least 0 and less than 1 (it says {self.skip:g})."))
        if not self.published:
            found.append(
                ("read", "stepwise attends to the vectors of both texts: it has no place, and no mean, to read.")
            )
        if self.reading != "first":
            found.append(("reading", "stepwise needs a bidirectional network: it must know where each text stands."))
        return found

    def head(self, width: int) -> AnswerNetwork:  # type: ignore[override]
        return AnswerNetwork(width, len(self.labels), self.steps, self.dropout, self.skip, self.order)

    def logits(self, model: Model, output: Output, batch: ExampleBatch) -> Tensor:
        """Logarithms of probabilities, whose softmax they are themselves."""
        assert batch.inputs.segments is not None
        return model.heads[self.name](output.last, *two_texts(batch.there, batch.inputs.segments))
