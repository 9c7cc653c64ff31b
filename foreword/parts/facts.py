"""One vector for each sentence of a story: its words by their places, added up (Universal Transformer, section 3.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from foreword.tokens.vocabulary import Vocabulary

ENDS = (".", "?", "!")  # what a sentence ends with, as a token


class FactReader(nn.Module):
    """`mask` weighs each number of a word by its place in the sentence; the last of `words` places serves all after it."""

    ends: Tensor

    def __init__(self, words: int, width: int, vocabulary: Vocabulary):
        super().__init__()
        self.mask = nn.Parameter(torch.ones(words, width))
        ends = [number for number, piece in enumerate(vocabulary.pieces) if piece in ENDS]
        self.register_buffer("ends", torch.tensor(ends, dtype=torch.long), persistent=False)

    def forward(self, x: Tensor, ids: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
        """x, ids and real of words [batch, words, ...] -> vectors and real of sentences [batch, sentences, ...]."""
        there = torch.ones_like(ids, dtype=torch.bool) if real is None else real
        closes = torch.isin(ids, self.ends) & there
        sentence = closes.cumsum(1) - closes.long()  # of each word
        first = torch.ones_like(closes)
        first[:, 1:] = closes[:, :-1]
        words = torch.arange(ids.size(1), device=ids.device).expand_as(ids)
        place = words - (words * first).cummax(1).values
        weighed = x * self.mask[place.clamp(max=len(self.mask) - 1)] * there[..., None].to(x.dtype)
        count = int(sentence[there].max()) + 1
        index = sentence.clamp(max=count - 1)
        found = x.new_zeros(len(x), count, x.size(-1)).scatter_add(1, index[..., None].expand_as(weighed), weighed)
        last = sentence.masked_fill(~there, -1).amax(1, keepdim=True)
        return found, torch.arange(count, device=ids.device) <= last
