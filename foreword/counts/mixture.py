"""A weighted sum of language models that share a vocabulary, counted or neural; weights by EM on held-out text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foreword.basics.messages import Fault

States = tuple[Any, ...]  # what each model remembers


class MixtureOfModels:
    """p = sum_m weight_m * p_m, token by token. Models may answer in numpy or in torch tensors on the CPU."""

    def __init__(self, models: Sequence[Any], weights: np.ndarray | None = None):
        if not models:
            raise Fault("a mixture needs at least one model.")
        sizes = [model.vocabulary.size for model in models]
        if len({(model.vocabulary.size, model.vocabulary.end) for model in models}) > 1:
            raise Fault(
                f"models of different vocabularies cannot be mixed (sizes {', '.join(map(str, sizes))}).",
                "Train them with the same tokenizer.",
            )
        self.models = list(models)
        self.vocabulary = models[0].vocabulary
        limits = [model.context for model in models if model.context is not None]
        self.context: int | None = min(limits, default=None)
        self.reach = self.context
        self.weights = np.full(len(models), 1 / len(models)) if weights is None else np.asarray(weights, float)
        if len(self.weights) != len(models) or (self.weights < 0).any() or abs(self.weights.sum() - 1) > 1e-6:
            raise Fault(
                f"{len(models)} models need as many weights, none negative, that sum to 1 "
                f"(they are {self.weights.tolist()})."
            )

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, States]:
        answers, states = zip(*(model.begin(prompts) for model in self.models))
        return mixed(answers, self.weights), states

    def advance(self, tokens: np.ndarray, state: States) -> tuple[np.ndarray, States]:
        answers, states = zip(*(model.advance(tokens, own) for model, own in zip(self.models, state)))
        return mixed(answers, self.weights), states

    def select(self, state: States, rows: np.ndarray) -> States:
        return tuple(model.select(own, rows) for model, own in zip(self.models, state))

    def join(self, state: States, other: States) -> States:
        return tuple(model.join(own, more) for model, own, more in zip(self.models, state, other))

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        answers = [model.score(sequences, starts) for model in self.models]
        return [mixed(each, self.weights) for each in zip(*answers)]

    def following(self, ids: np.ndarray) -> Iterator[np.ndarray]:
        """A place at a time: the models answer in pieces of different length."""
        each = [(row for some in model.following(ids) for row in some) for model in self.models]
        for rows in zip(*each):
            yield mixed(rows, self.weights)[None]

    def fit(self, models_log_probs: list[np.ndarray]) -> np.ndarray:
        """Take the weights that make a held-out text likeliest, given each model's log-probability of every token.

        Stops when a round of EM gains less than 1e-10 nats per token, or after 10,000 rounds.
        """
        before = -np.inf
        for count, (weights, likelihood) in enumerate(rounds(models_log_probs)):
            self.weights = weights
            if likelihood - before < 1e-10 or count == 10_000:
                break
            before = likelihood
        return self.weights


def mixed(log_probs: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """ln sum_m weight_m exp(log_probs_m), in float64 whatever the models answer in."""
    each = np.stack([np.asarray(one, np.float64) for one in log_probs])
    highest = each.max(0)
    safe = np.where(np.isfinite(highest), highest, 0.0)  # where all say impossible: ln 0, not nan
    with np.errstate(divide="ignore"):
        return np.log(np.tensordot(weights, np.exp(each - safe), 1)) + safe


def rounds(models_log_probs: list[np.ndarray]) -> Iterator[tuple[np.ndarray, float]]:
    """EM without end from equal weights: (weights, mean log-likelihood under them), never decreasing.

    Tokens that every model calls impossible say nothing about the weights and are left out.
    """
    each = np.stack([np.asarray(one, np.float64).ravel() for one in models_log_probs])
    each = each[:, np.isfinite(each.max(0))]
    weights = np.full(len(each), 1 / len(each))
    if not each.shape[1]:
        raise Fault("there is no held-out token that any of the models could have written: nothing to fit weights on.")
    highest = each.max(0)
    each = np.exp(each - highest)
    while True:
        total = weights @ each
        yield weights, float((np.log(total) + highest).mean())
        weights = weights * (each / total).mean(1)
        weights = weights / weights.sum()
