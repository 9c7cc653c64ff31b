"""Softmax learned from a few words drawn at random beside the right one; read, and evaluated, over all words."""

from __future__ import annotations

import math
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.basics.numbers import Size
from foreword.parts.heads import FullSoftmax, HeadSpec, TokenHead
from foreword.tokens.vocabulary import Vocabulary


class SampledSoftmax(HeadSpec):
    """Jozefowicz et al. 2016: the right word among `samples` others, drawn log-uniformly by frequency."""

    kind: Literal["sampled_softmax"] = "sampled_softmax"
    tied: bool = False
    bias: bool = True
    samples: Size = 8192  # 0: the full softmax
    loss: Literal["importance", "nce"] = "importance"  # a softmax over those drawn, or right from wrong one by one

    def without_chance(self) -> Self:
        return self.model_copy(update={"samples": 0})

    def over(self, width: int, vocabulary: Vocabulary, table: Tensor | None) -> TokenHead:
        return SampledHead(self, width, vocabulary, table)


def by_frequency(vocabulary: Vocabulary) -> Tensor:
    """[vocabulary]: ids, the most frequent first. Ids are not in that order in every store."""
    if vocabulary.counts is None:
        return torch.arange(vocabulary.size)
    counts = torch.zeros(vocabulary.size, device="cpu")
    counts[: len(vocabulary.counts)] = torch.from_numpy(vocabulary.counts.astype("float32"))
    return counts.argsort(descending=True, stable=True).to(torch.empty(0).device)


class LogUniform:
    """P(rank) = log((rank + 2) / (rank + 1)) / log(words + 1), ranks from 0: nearly Zipf's law."""

    def __init__(self, words: int):
        self.words = words

    def draw(self, count: int, like: Tensor) -> Tensor:
        ranks = (torch.rand(count, device=like.device, dtype=torch.float64) * math.log(self.words + 1)).exp().long() - 1
        return ranks.clamp_(0, self.words - 1)

    def log_probability(self, ranks: Tensor) -> Tensor:
        ranks = ranks.double()
        return ((ranks + 2) / (ranks + 1)).log().log() - math.log(math.log(self.words + 1))


class SampledHead(FullSoftmax):
    ranked: Tensor  # ids, the most frequent first
    rank: Tensor  # of each id

    def __init__(self, spec: SampledSoftmax, width: int, vocabulary: Vocabulary, table: Tensor | None):
        super().__init__(width, vocabulary.size, table if spec.tied else None, spec.bias)
        self.spec, self.noise = spec, LogUniform(vocabulary.size)
        ranked = by_frequency(vocabulary)
        self.register_buffer("ranked", ranked)  # saved: a model that is opened does not know the counts
        self.register_buffer("rank", ranked.argsort())

    def rows(self, ids: Tensor) -> Tensor:
        """The output vectors of some words."""
        return F.embedding(ids, self.out.weight)

    def summed(self, hidden: Tensor, targets: Tensor) -> Tensor:
        if not self.training or not self.spec.samples:
            return super().summed(hidden, targets)
        ranks = self.noise.draw(self.spec.samples, hidden)
        often = math.log(self.spec.samples)
        expected = self.noise.log_probability(ranks) + often
        own = self.noise.log_probability(self.rank[targets]) + often
        return self.among(hidden, targets, self.ranked[ranks], own.to(hidden), expected.to(hidden))

    def among(self, hidden: Tensor, targets: Tensor, drawn: Tensor, own: Tensor, expected: Tensor) -> Tensor:
        """What the targets cost beside the words drawn. own, expected: logs of how often each was expected to be drawn."""
        right = (hidden * self.rows(targets)).sum(-1) - own
        wrong = hidden @ self.rows(drawn).t() - expected
        if self.out.bias is not None:
            right, wrong = right + self.out.bias[targets], wrong + self.out.bias[drawn]
        wrong = wrong.masked_fill(targets[:, None] == drawn, float("-inf"))  # the right word is not a wrong one
        if self.spec.loss == "nce":
            return F.softplus(-right).sum() + F.softplus(wrong).sum()
        both = torch.cat([right[:, None], wrong], -1)
        return (both.logsumexp(-1) - right).sum()
