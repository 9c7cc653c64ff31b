"""Softmax in two steps: the class of a word, then the word in its class. And adaptive softmax, which is torch's."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Positive, Size
from foreword.parts.heads import FullSoftmax, HeadSpec, TokenHead
from foreword.parts.sampled_softmax import by_frequency
from foreword.tokens.vocabulary import Vocabulary


class ClassSoftmax(HeadSpec):
    """Mikolov et al. 2011: words sorted by frequency fall into classes that are about equally likely."""

    kind: Literal["class_softmax"] = "class_softmax"
    tied: bool = False
    bias: bool = True
    classes: Size | None = None  # the root of the vocabulary by default

    def over(self, width: int, vocabulary: Vocabulary, table: Tensor | None) -> TokenHead:
        return ClassHead(self, width, vocabulary, table)


def classes_of(vocabulary: Vocabulary, classes: int) -> Tensor:
    """[vocabulary]: the class of each word. Without counts, classes are equally large."""
    counts = torch.ones(vocabulary.size, dtype=torch.float64, device="cpu")
    if vocabulary.counts is not None:
        counts[: len(vocabulary.counts)] += torch.from_numpy(vocabulary.counts.astype("float64"))
    order = counts.argsort(descending=True, stable=True)
    before = counts[order].cumsum(0) - counts[order]
    binned = (before / counts.sum() * classes).long().clamp_(max=classes - 1)
    dense = binned.unique(return_inverse=True)[1]  # a very frequent word may leave classes empty
    found = torch.empty_like(dense)
    found[order] = dense
    return found.to(torch.empty(0).device)


class ClassHead(FullSoftmax):
    belongs: Tensor  # the class of each word

    def __init__(self, spec: ClassSoftmax, width: int, vocabulary: Vocabulary, table: Tensor | None):
        super().__init__(width, vocabulary.size, table if spec.tied else None, spec.bias)
        classes = spec.classes or max(1, round(vocabulary.size**0.5))
        self.register_buffer("belongs", classes_of(vocabulary, classes))
        self.classes = nn.Linear(width, classes, bias=spec.bias)

    def summed(self, hidden: Tensor, targets: Tensor) -> Tensor:
        wanted = self.belongs[targets]
        total = F.nll_loss(self.class_logs(hidden), wanted, reduction="sum")
        for number in wanted.unique():
            rows, words = (wanted == number).nonzero()[:, 0], (self.belongs == number).nonzero()[:, 0]
            bias = None if self.out.bias is None else self.out.bias[words]
            logits = F.linear(hidden[rows], self.out.weight[words], bias)
            total = total + F.cross_entropy(logits, torch.searchsorted(words, targets[rows]), reduction="sum")
        return total

    def class_logs(self, hidden: Tensor) -> Tensor:
        """Log-probabilities of the classes; those without words have none."""
        made = self.classes(hidden)
        return made.masked_fill(torch.bincount(self.belongs, minlength=made.size(-1)) == 0, float("-inf")).log_softmax(
            -1
        )

    def logits(self, hidden: Tensor) -> Tensor:
        """Log-probabilities: the class's, and the word's among its class."""
        words, classes = self.out(hidden), self.class_logs(hidden)
        of = self.belongs.expand_as(words)
        most = torch.full_like(classes, float("-inf")).scatter_reduce(-1, of, words, "amax")
        apart = (words - most.gather(-1, of)).exp()
        whole = torch.zeros_like(classes).scatter_add(-1, of, apart)
        return words - most.gather(-1, of) - whole.log().gather(-1, of) + classes.gather(-1, of)


class AdaptiveSoftmax(HeadSpec):
    """Grave et al. 2017: the most frequent words are read at full width, rarer ones at ever less."""

    kind: Literal["adaptive_softmax"] = "adaptive_softmax"
    tied: Literal[False] = False
    cutoffs: tuple[float, ...] = (0.1, 0.4)  # shares of the vocabulary, the most frequent first
    divide: Positive = 4.0  # the width of each next share

    def over(self, width: int, vocabulary: Vocabulary, table: Tensor | None) -> TokenHead:
        return AdaptiveHead(self, width, vocabulary)


class AdaptiveHead(TokenHead):
    ranked: Tensor
    rank: Tensor

    def __init__(self, spec: AdaptiveSoftmax, width: int, vocabulary: Vocabulary):
        nn.Module.__init__(self)
        ranked = by_frequency(vocabulary)
        self.register_buffer("ranked", ranked)
        self.register_buffer("rank", ranked.argsort())
        ends = sorted({max(1, int(share * vocabulary.size)) for share in spec.cutoffs})
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(width, vocabulary.size, ends, spec.divide)

    def summed(self, hidden: Tensor, targets: Tensor) -> Tensor:
        return -self.softmax(hidden, self.rank[targets]).output.sum()

    def logits(self, hidden: Tensor) -> Tensor:
        flat = self.softmax.log_prob(hidden.reshape(-1, hidden.size(-1)))
        return flat[:, self.rank].view(*hidden.shape[:-1], -1)
