"""The last word of a passage: is it what the model would say, and how surprising is it (LAMBADA, Paperno et al. 2016)?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from foreword.tasks.example import UnusableExample
from foreword.tasks.metrics import Metric, Perplexity, Proportion
from foreword.tasks.prompted.request import Judged, LikelihoodRequest, PromptedKind, Request
from foreword.tasks.template import Row, render

FILTERED = "accuracy, no stop words"


class LastWord(PromptedKind):
    """Would the model say the whole last word? Its perplexity is per word, whatever the tokens."""

    templated: ClassVar[tuple[str, ...]] = ("text", "context")
    own_fields: ClassVar[tuple[str, ...]] = ("passage",)
    kind: Literal["last_word"] = "last_word"
    text: str
    # around a passage without its last word, for prompts that show a gap: "{passage} ____. ->"
    context: str = "{passage}"
    stop_words: tuple[str, ...] = ()  # words that cannot be the answer; an accuracy without them is given as well

    def split(self, row: Row) -> tuple[str, str]:
        passage, _, word = render(self.text, row).rstrip().rpartition(" ")
        if not passage:
            raise UnusableExample("it has no word before the last")
        return passage, word

    def requests(self, row: Row) -> list[Request]:
        passage, word = self.split(row)
        banned = tuple(other for other in self.stop_words if other != word)
        return [
            LikelihoodRequest(
                render(self.context, {**row, "passage": passage}), f" {word}", greedy=True, without=banned
            )
        ]

    def solved(self, row: Row) -> str:
        passage, word = self.split(row)
        return f"{render(self.context, {**row, 'passage': passage})} {word}"

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        likelihood = answers[0]
        values = {"accuracy": likelihood.greedy, "perplexity": -likelihood.total}
        if self.stop_words:
            values[FILTERED] = likelihood.greedy_without
        return Judged(values, {"word": self.split(row)[1], "log_probability": likelihood.total})

    def metrics(self) -> dict[str, Metric]:
        filtered: dict[str, Metric] = {FILTERED: Proportion()} if self.stop_words else {}
        return {"accuracy": Proportion(), **filtered, "perplexity": Perplexity()}

    def scored(self, metric: str) -> str:
        return "per word" if metric == "perplexity" else ""
