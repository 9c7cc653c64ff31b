"""Requests of tasks, answered by a language model: each sort of request has a function that answers many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foreword.basics.registry import Registry
from foreword.networks.language_model import LanguageModel
from foreword.tokens.tokenizer import Tokenizer

# who answers: (asked, requests of that sort) -> an answer for each, in order
ANSWERS = Registry(
    "answer",
    {
        "weigh": "foreword.evaluate.likelihood:score_continuations",
        "write": "foreword.evaluate.generation:write_continuations",
        "roll": "foreword.evaluate.whole_text:score_whole_texts",
    },
)
ROWS = 64  # requests that are answered together, at most


@dataclass
class RequestCounts:
    """What happened to requests on their way, for the report."""

    requests: int = 0
    cut: int = 0  # lost the beginning of their context
    tokens: int = 0  # asked about or read
    unknown: int = 0


@dataclass
class PromptedModel:
    """A language model that is asked, and what there is to say about how it was."""

    name: str
    model: LanguageModel
    tokenizer: Tokenizer
    counts: RequestCounts = field(default_factory=RequestCounts)

    @property
    def context(self) -> int | None:
        return self.model.context

    def count(self, ids: Sequence[np.ndarray], cut: int) -> None:
        unknown = self.tokenizer.special("[unknown]") if self.tokenizer.has("[unknown]") else -1
        self.counts.requests += len(ids)
        self.counts.cut += cut
        self.counts.tokens += sum(map(len, ids))
        self.counts.unknown += sum(int((one == unknown).sum()) for one in ids)


def answer(asked: PromptedModel, requests: Sequence[Any]) -> list[Any]:
    """An answer for each request; those of one sort are asked together."""
    found: list[Any] = [None] * len(requests)
    for sort in dict.fromkeys(request.answered_by for request in requests):
        places = [place for place, request in enumerate(requests) if request.answered_by == sort]
        answered: Callable[..., list[Any]] = ANSWERS.find(sort)
        for place, one in zip(places, answered(asked, [requests[place] for place in places])):
            found[place] = one
    return found
