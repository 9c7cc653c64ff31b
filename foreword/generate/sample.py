"""Sampling: temperature, top-k, nucleus, repetition penalty. A rule from log-probabilities to one token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foreword.basics.messages import Fault

FEW, MANY = 64, 1024  # tokens that are tried first for a nucleus, if the vocabulary has many


@dataclass(frozen=True)
class Sampling:
    """How to choose the next token. Temperature 0 always takes the likeliest."""

    max_tokens: int = 100
    min_tokens: int = 0  # the text does not end before
    temperature: float = 1.0
    top_k: int = 0  # 0: no limit
    top_p: float = 1.0  # smallest set of tokens that holds this much probability
    repetition_penalty: float = 1.0  # above 1: tokens that occurred become less likely (Keskar et al. 2019)
    stop: tuple[str, ...] = ()
    bias: tuple[tuple[int, float], ...] = ()  # added to the scores of these tokens before all else
    seed: int = 0

    def __post_init__(self) -> None:
        rules = (
            ("max_tokens", self.max_tokens >= 0, "at least 0"),
            ("temperature", 0 <= self.temperature < math.inf, "at least 0"),
            ("top_k", self.top_k >= 0, "at least 0"),
            ("top_p", 0 < self.top_p <= 1, "more than 0 and at most 1"),
            ("repetition_penalty", 0 < self.repetition_penalty < math.inf, "more than 0"),
        )
        for name, holds, rule in rules:
            if not holds:
                raise Fault(f"{name} must be {rule} (it says {getattr(self, name)}).")

    def choose(
        self,
        log_probs: Tensor,
        generators: Sequence[np.random.Generator],
        seen: Sequence[Iterable[int]] = (),
        without: int = -1,
    ) -> np.ndarray:
        """One token for each row: the likeliest, or where a number drawn from 0 to 1 falls among the probabilities."""
        if self.temperature == 0.0 and self.repetition_penalty == 1.0 and not self.bias:
            likely = log_probs.argmax(-1).cpu().numpy()
            if without < 0 or without not in likely:
                return likely
        ids, scores = self.candidates(log_probs, seen, without)
        if self.temperature == 0.0:
            places = scores.argmax(-1)
        else:
            summed = np.exp(scores - scores.max(-1, keepdims=True)).cumsum(-1, dtype=np.float64)
            points = np.array([generator.random() for generator in generators]) * summed[:, -1]
            places = np.array([row.searchsorted(point, side="right") for row, point in zip(summed, points)])
            places = np.minimum(places, scores.shape[1] - 1)
        return places if ids is None else ids[np.arange(len(ids)), places]

    def candidates(
        self, log_probs: Tensor, seen: Sequence[Iterable[int]] = (), without: int = -1
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """log_probs [rows, vocabulary] -> the ids that may be chosen [rows, some] in rising order, and their scores.

        No ids: all of the vocabulary. What scores minus infinity may not be chosen either; `without` is a token that may not.
        """
        scores = log_probs
        if without >= 0 or self.repetition_penalty != 1.0 or self.bias:
            scores = scores.clone()
        for token, more in self.bias:
            scores[:, token] += more
        if self.repetition_penalty != 1.0:
            for row, ids in zip(scores, seen):
                occurred = torch.tensor(sorted(set(ids)), dtype=torch.int64, device=row.device)
                row[occurred] *= self.repetition_penalty  # log-probabilities are negative: more than 1 pushes down
        if without >= 0:
            scores[:, without] = -torch.inf
        if self.temperature not in (0.0, 1.0):
            scores = scores / self.temperature
        limited = 0 < self.top_k < scores.size(-1)
        if not limited and self.top_p == 1.0:
            return None, scores.cpu().numpy()
        chosen, there = likeliest(scores, self.top_k) if limited else self._enough(scores)
        if self.top_p < 1.0:
            whole = there if limited else scores.logsumexp(-1, keepdim=True).double().cpu().numpy()
            before = np.exp(there - np.logaddexp.reduce(whole, -1, keepdims=True)).cumsum(-1)[:, :-1]
            there[:, 1:][before >= self.top_p] = -np.inf  # the set before holds enough
        order = chosen.argsort(-1)
        return np.take_along_axis(chosen, order, -1), np.take_along_axis(there, order, -1)

    def _enough(self, scores: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest tokens that together hold `top_p`, and some more: seldom must a whole vocabulary be put in order."""
        size = FEW if scores.size(-1) > MANY else scores.size(-1)
        whole = scores.logsumexp(-1, keepdim=True)
        while size < scores.size(-1) and bool(((scores.topk(size).values - whole).exp().sum(-1) <= self.top_p).any()):
            size *= 8
        return likeliest(scores, size)


def likeliest(scores: Tensor, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(ids, scores) of the k highest of each row, highest first; of equals the first ones, never more than k."""
    if k < scores.size(-1):
        values, ids = (found.cpu().numpy() for found in scores.topk(k + 1))
        if (values[:, -2] > values[:, -1]).all():  # no equals at the edge
            order = np.lexsort((ids[:, :k], -values[:, :k]))
            return np.take_along_axis(ids, order, -1), np.take_along_axis(values, order, -1).astype(np.float64)
    ordered = scores.sort(dim=-1, descending=True, stable=True)
    return ordered.indices[:, :k].cpu().numpy(), ordered.values[:, :k].double().cpu().numpy()
