"""ESIM: two texts, each word aligned with the words of the other (Chen et al. 2017). Over the vectors of any frozen network."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Below1, Size
from foreword.networks.features import BiLstmReader, ReaderSpec


class Esim(ReaderSpec):
    """Encode, align, compare, compose, pool (section 3). The paper: 300 in each direction over tuned vectors, Adam at 4e-4."""

    kind: Literal["esim"] = "esim"
    texts: ClassVar[int] = 2
    width: Size = 300  # of each direction of both LSTMs, and of what the head reads
    dropout: Below1 = 0.5

    def width_over(self, width: int) -> int:
        return self.width

    def build(self, width: int) -> AlignedReader:
        return AlignedReader(width, self.width, self.dropout)


class AlignedReader(nn.Module):
    def __init__(self, inputs: int, width: int, dropout: float):
        super().__init__()
        self.encode = BiLstmReader(inputs, 2 * width, 1, dropout)
        self.compare = nn.Linear(8 * width, width)
        self.compose = BiLstmReader(width, 2 * width, 1, dropout)
        self.pooled = nn.Sequential(nn.Dropout(dropout), nn.Linear(8 * width, width), nn.Tanh())

    def forward(self, x: Tensor, real: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """x [batch, positions, inputs] -> one vector for the pair, at every position: [batch, positions, width]"""
        there = x.new_ones(x.shape[:2], dtype=torch.bool) if real is None else real
        second = torch.zeros_like(there) if segments is None else there & (segments == 1)
        first = there & ~second  # each text is read alone: the other is as little there as padding
        encoded = torch.where(first[..., None], self.encode(x, first), self.encode(x, second))
        other = weights(encoded, first, second) @ encoded
        compared = torch.cat([encoded, other, encoded - other, encoded * other], -1)
        seen = F.relu(self.compare(compared))
        pools = []
        for side in (first, second):
            composed = self.compose(seen, side)
            pools += [mean_of(composed, side), max_of(composed, side)]
        return self.pooled(torch.cat(pools, -1))[:, None].expand(-1, x.size(1), -1)


def weights(encoded: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """[batch, positions, positions], how much each word is of those of the other text (eq. 11-13).

    Rows add up to one over the other text, and are zero where there is none.
    """
    scores = encoded @ encoded.transpose(1, 2)
    other = (first[:, :, None] & second[:, None]) | (second[:, :, None] & first[:, None])
    return scores.masked_fill(~other, -torch.inf).softmax(-1).nan_to_num(0.0)


def mean_of(x: Tensor, side: Tensor) -> Tensor:
    return (x * side[..., None]).sum(1) / side.sum(1, keepdim=True).clamp(min=1)


def max_of(x: Tensor, side: Tensor) -> Tensor:
    return x.masked_fill(~side[..., None], -torch.inf).amax(1).nan_to_num(neginf=0.0)
