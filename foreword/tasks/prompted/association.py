"""Which choice do the words of a question stand with? The solver of Clark et al. 2016, by PMI of n-grams in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from foreword.basics.messages import Fault
from foreword.tasks.metrics import Metric, Proportion
from foreword.tasks.prompted.multiple_choice import ChoosesByLikelihood, LikeliestChoice, likeliest
from foreword.tasks.prompted.request import Judged, Request
from foreword.tasks.template import Row, names, render
from foreword.text.stop_words import ENGLISH

SHOWN = 5  # pairs that are named


@dataclass(frozen=True)
class AssociationRequest(Request):
    """How strongly are this question and this choice associated?"""

    choice: str


@dataclass(frozen=True)
class Associated:
    """The mean over all pairs, and the pairs: (of the question, of the choice, their association), largest first."""

    score: float
    pairs: tuple[tuple[str, str, float], ...] = ()


class AssociationChoice(ChoosesByLikelihood):
    """The choice whose n-grams are, in the mean over all pairs, most strongly associated with those of the question."""

    templated: ClassVar[tuple[str, ...]] = ("question", "choices", "gold")
    kind: Literal["association"] = "association"
    question: str
    ngrams: int = 3  # words that an n-gram has at most
    skips: bool = True  # and pairs of words with one between them
    measure: Literal["pmi", "ppmi", "npmi"] = "pmi"
    add: float = 0.0  # to every count; 0: a pair that never met counts 0
    power: float = 1.0  # of the frequencies of the choice's n-grams
    stop_words: tuple[str, ...] = tuple(sorted(ENGLISH))  # part of no n-gram

    @classmethod
    def of(cls, name: str, asked: object) -> AssociationChoice:
        """The same questions for a table of co-occurrences: without the words that a prompt puts around them."""
        if isinstance(asked, AssociationChoice):
            return asked
        if not isinstance(asked, LikeliestChoice):
            raise Fault(
                f"{name} offers no choices to choose from: a table of co-occurrences cannot answer it.",
                "It answers multiple choice: ai2-science, arc-easy, arc-challenge, qasc, or a file of your own.",
            )
        fields = " ".join(f"{{{name}}}" for name in dict.fromkeys(names(asked.context)))
        return cls(question=fields, choices=asked.choices, gold=asked.gold, labels=asked.labels)

    def faults(self) -> list[tuple[str, str]]:
        too_few = [] if self.ngrams > 0 else [("ngrams", f"n-grams have at least one word (it says {self.ngrams}).")]
        return super().faults() + too_few

    def requests(self, row: Row) -> list[Request]:
        self.right(row)
        question = render(self.question, row)
        return [AssociationRequest(question, choice, shots=False) for choice in self.offered(row)]

    def solved(self, row: Row) -> str:
        return f"{render(self.question, row)} {self.offered(row)[self.right(row)]}"

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        scores, right = [answer.score for answer in answers], self.right(row)
        guess = likeliest(scores)
        pairs = {choice: list(answer.pairs[:SHOWN]) for choice, answer in zip(self.offered(row), answers)}
        shown = {"question": render(self.question, row), "choices": self.offered(row), "scores": scores}
        return Judged({"accuracy": guess == right}, {**shown, "gold": right, "guess": guess, "pairs": pairs})

    def metrics(self) -> dict[str, Metric]:
        return {"accuracy": Proportion()}
