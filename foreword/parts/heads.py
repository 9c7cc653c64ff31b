"""Heads read a network's vectors. A token head answers `nll` of given targets, their `total`, and `log_probs` of all."""

from __future__ import annotations

from typing import Literal, Self, cast

import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import NotNegative
from foreword.basics.spec import Spec
from foreword.parts.block import Activation, activation
from foreword.parts.cross_entropy import summed_nll
from foreword.tokens.vocabulary import Vocabulary


class TokenHead(nn.Module):
    """A softmax over the whole vocabulary; subclasses say what happens to the vectors before it."""

    def __init__(self, width: int, vocabulary: int, table: Tensor | None, bias: bool):
        super().__init__()
        self.out = nn.Linear(width, vocabulary, bias=bias)
        if table is not None:
            self.out.weight = cast(nn.Parameter, table)  # tied: the table of token vectors reads as well as writes

    def prepare(self, hidden: Tensor) -> Tensor:
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., width] -> [..., vocabulary]"""
        return self.out(self.prepare(hidden))

    def nll(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """[guesses, width], [guesses] -> one charge per guess, in nats."""
        return F.cross_entropy(self.logits(hidden), targets, reduction="none")

    def total(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """The charges of all guesses together, for learning from: the same sum as `nll`'s, in far less memory."""
        return self.summed(self.prepare(hidden), targets)

    def summed(self, prepared: Tensor, targets: Tensor) -> Tensor:
        return summed_nll(prepared, self.out.weight, self.out.bias, targets)

    def spread(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """By how much the targets' logits lie above the mean of all, summed: what label smoothing charges for."""
        weight, bias = self.out.weight, self.out.bias
        found = (self.prepare(hidden) * (weight[targets] - weight.mean(0))).sum()
        return found if bias is None else found + (bias[targets] - bias.mean()).sum()

    def log_probs(self, hidden: Tensor) -> Tensor:
        return self.logits(hidden).float().log_softmax(-1)


class FullSoftmax(TokenHead):
    """`scale`: what the vectors are multiplied by first."""

    def __init__(self, width: int, vocabulary: int, table: Tensor | None, bias: bool, scale: float = 1.0):
        super().__init__(width, vocabulary, table, bias)
        self.scale = scale

    def prepare(self, hidden: Tensor) -> Tensor:
        return hidden if self.scale == 1.0 else hidden * self.scale


class TransformedHead(TokenHead):
    """BERT's: a dense layer, its activation and a norm come first, and each token has a bias.

    The dense layer also maps to the width of the table, where token vectors have a width of their own (ELECTRA).
    """

    def __init__(
        self, width: int, vocabulary: int, table: Tensor | None, act: Activation, epsilon: float, bias: bool = True
    ):
        super().__init__(width, vocabulary, table, bias=True)
        inner = self.out.weight.size(1)
        self.dense = nn.Linear(width, inner, bias)
        self.act = activation(act)
        self.norm = nn.LayerNorm(inner, epsilon, bias=bias)

    def prepare(self, hidden: Tensor) -> Tensor:
        return self.norm(self.act(self.dense(hidden)))


class HeadSpec(Spec):
    tied: bool = True  # the head shares the network's table of token vectors

    def build(self, width: int, vocabulary: int, table: Tensor | None) -> TokenHead:
        """For vectors of this width."""
        raise TypeError(f"{type(self).__name__} has no build.")

    def over(self, width: int, vocabulary: Vocabulary, table: Tensor | None) -> TokenHead:
        """The same, for heads that have to know how often each token occurs, or its spelling."""
        return self.build(width, vocabulary.size, table)

    def without_chance(self) -> Self:
        """The same head, drawing nothing while it learns."""
        return self


class Softmax(HeadSpec):
    kind: Literal["softmax"] = "softmax"
    bias: bool = False
    scaled: bool = False  # vectors are first divided by the root of their width (T5, where the table is tied)

    def build(self, width: int, vocabulary: int, table: Tensor | None) -> TokenHead:
        scale = width**-0.5 if self.scaled else 1.0
        return FullSoftmax(width, vocabulary, table if self.tied else None, self.bias, scale)


class TransformedSoftmax(HeadSpec):
    kind: Literal["transformed_softmax"] = "transformed_softmax"
    activation: Activation = "gelu_erf"
    norm_epsilon: NotNegative = 1e-12
    bias: bool = True  # in the dense layer and its norm; every token has one in any case

    def build(self, width: int, vocabulary: int, table: Tensor | None) -> TokenHead:
        own = table if self.tied else None
        return TransformedHead(width, vocabulary, own, self.activation, self.norm_epsilon, self.bias)


class PositionScore(nn.Module):
    """One score for each position, through a dense layer (ELECTRA's discriminator)."""

    def __init__(self, width: int, act: Activation = "gelu_erf"):
        super().__init__()
        self.dense, self.act, self.out = nn.Linear(width, width), activation(act), nn.Linear(width, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., width] -> [...]"""
        return self.out(self.act(self.dense(hidden)))[..., 0]


class PooledClassHead(nn.Module):
    """Classes from the first position, through a dense layer and tanh (BERT's pooler)."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.pool = nn.Linear(width, width)
        self.out = nn.Linear(width, classes)

    def forward(self, hidden: Tensor) -> Tensor:
        """[batch, positions, width] -> [batch, classes]"""
        return self.out(self.pool(hidden[:, 0]).tanh())
