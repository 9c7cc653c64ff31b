"""What a task may ask of a language model, what comes back, and the form every kind of task has.

A kind makes requests of an example and judges the answers. It never sees a model; whoever answers never sees an example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foreword.basics.files import JsonObject
from foreword.tasks.metrics import Metric
from foreword.tasks.template import Row, Templated


@dataclass(frozen=True)
class Request:
    """A question. Those with `shots` get the solved examples in front of their query, as many as there is room for."""

    query: str
    shots: bool = field(default=True, kw_only=True)

    @property
    def whole(self) -> str:
        """All text that must fit into a context together."""
        return self.query

    def room(self, context: int) -> int:
        """How many tokens of it fit."""
        return context


@dataclass(frozen=True)
class LikelihoodRequest(Request):
    """How likely is this continuation of the query?"""

    continuation: str
    greedy: bool = False  # also whether it is what the model itself would say
    without: tuple[str, ...] = ()  # ... also if these words may not begin it

    @property
    def whole(self) -> str:
        return self.query + self.continuation

    def room(self, context: int) -> int:
        return context + 1  # the last token is guessed, not read


@dataclass(frozen=True)
class Likelihood:
    """The log-probability of every token of a continuation."""

    logs: np.ndarray  # [tokens] nats
    greedy: bool = False
    greedy_without: bool = False
    unigram: float = math.nan  # nats of all its tokens by how often each occurs in the training text, where known

    @property
    def total(self) -> float:
        return float(self.logs.sum())

    @property
    def mean(self) -> float:
        return self.total / max(len(self.logs), 1)


@dataclass(frozen=True)
class GenerationRequest(Request):
    """What does the model write after the query?"""

    most: int  # tokens
    stop: tuple[str, ...] = ()
    top_k: int = 1  # 1: always the likeliest token

    def room(self, context: int) -> int:
        return max(1, context - min(self.most, context // 2))


@dataclass(frozen=True)
class Judged:
    """The answers to one example, judged: for each metric what it needs, and what a person may want to see."""

    values: JsonObject
    shown: JsonObject = field(default_factory=dict)


class PromptedKind(Templated):
    """One way to ask: from an example to requests, from answers to judgements."""

    def requests(self, row: Row) -> list[Request]:
        raise NotImplementedError

    def solved(self, row: Row) -> str:
        """The example with its answer, as a shot."""
        raise NotImplementedError

    def judge(self, row: Row, answers: Sequence[object]) -> Judged:
        raise NotImplementedError

    def metrics(self) -> dict[str, Metric]:
        raise NotImplementedError

    def chance(self, row: Row) -> float | None:
        """How often a guess would be right."""
        return None

    def scored(self, metric: str) -> str:
        """How likelihoods of unlike length are made alike, in a word or two."""
        return ""
