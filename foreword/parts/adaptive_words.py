"""Adaptive input: frequent words have wide vectors, rarer ones ever narrower ones that a map widens (Baevski & Auli 2019)."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from foreword.parts.sampled_softmax import by_frequency
from foreword.parts.words import WordsSpec
from foreword.tokens.vocabulary import Vocabulary


class Adaptive(WordsSpec):
    kind: Literal["adaptive"] = "adaptive"
    cutoffs: tuple[float, ...] = (
        0.1,
        0.4,
    )  # shares of the vocabulary, the most frequent first; as adaptive_softmax has them
    divide: float = 4.0  # the width of each next share

    def faults(self) -> list[tuple[str, str]]:
        if list(self.cutoffs) != sorted(set(self.cutoffs)) or not all(0 < share < 1 for share in self.cutoffs):
            return [("cutoffs", f"cutoffs must be growing shares between 0 and 1 (it says {list(self.cutoffs)}).")]
        return [] if self.divide >= 1 else [("divide", f"divide must be at least 1 (it says {self.divide}).")]

    def build(self, vocabulary: Vocabulary, width: int) -> AdaptiveWords:
        return AdaptiveWords(self, vocabulary, width)


class AdaptiveWords(nn.Module):
    rank: Tensor  # of each id, by frequency

    def __init__(self, spec: Adaptive, vocabulary: Vocabulary, width: int):
        super().__init__()
        self.register_buffer("rank", by_frequency(vocabulary).argsort())
        ends = sorted({max(1, int(share * vocabulary.size)) for share in spec.cutoffs} | {vocabulary.size})
        self.starts = [0, *ends[:-1]]
        widths = [max(1, int(width // spec.divide**number)) for number in range(len(ends))]
        sizes = [end - start for start, end in zip(self.starts, ends)]
        self.shares: Any = nn.ModuleList([nn.Embedding(size, narrow) for size, narrow in zip(sizes, widths)])
        self.widen: Any = nn.ModuleList([nn.Linear(narrow, width, bias=False) for narrow in widths[1:]])

    def forward(self, ids: Tensor, drop: float = 0.0) -> Tensor:
        """ids [...] -> [..., width]. `drop`: this share of the words is gone, wherever they stand."""
        ranks = self.rank[ids.flatten()]
        if type(ids).__name__ == "FakeTensor":  # a plan asks for sizes: all words are of the first share
            return self.shares[0](ranks).view(*ids.shape, -1)
        belongs = torch.bucketize(ranks, torch.tensor(self.starts[1:], device=ranks.device), right=True)
        places, vectors = [], []
        for number, (table, start) in enumerate(zip(self.shares, self.starts)):
            here = (belongs == number).nonzero()[:, 0]  # none may be: then its weights have a gradient of zero
            found = table(ranks[here] - start)
            places.append(here)
            vectors.append(self.widen[number - 1](found) if number else found)
        found = torch.cat(vectors)[torch.cat(places).argsort()]
        if drop:
            keep = nn.functional.dropout(found.new_ones(len(self.rank), 1), drop)
            found = found * keep[ids.flatten()]
        return found.view(*ids.shape, -1)

    def every(self) -> Tensor:
        """The vectors of all words. [vocabulary, width]"""
        wide = [self.widen[n - 1](table.weight) if n else table.weight for n, table in enumerate(self.shares)]
        return torch.cat(wide)[self.rank]
