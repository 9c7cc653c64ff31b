"""CNN softmax (Jozefowicz et al. 2016, section 3.2): output vectors are spelled too, with a small correction for each word."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Whole
from foreword.parts.cross_entropy import summed_nll
from foreword.parts.heads import TokenHead
from foreword.parts.sampled_softmax import SampledHead, SampledSoftmax
from foreword.parts.words import Characters
from foreword.tokens.vocabulary import Vocabulary


class CharacterSoftmax(SampledSoftmax):
    """Spelled words, also in the output; two that are spelled nearly alike are told apart by their corrections."""

    kind: Literal["character_softmax"] = "character_softmax"  # type: ignore[assignment]
    characters: Characters = Characters()
    correction: Whole = 128  # numbers of its own that each word has; 0: none

    def over(self, width: int, vocabulary: Vocabulary, table: Tensor | None) -> TokenHead:
        return CharacterHead(self, width, vocabulary)


class Biases(nn.Module):
    def __init__(self, vocabulary: int, bias: bool):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None


class CharacterHead(SampledHead):
    def __init__(self, spec: CharacterSoftmax, width: int, vocabulary: Vocabulary):
        super().__init__(spec.model_copy(update={"tied": True}), width, vocabulary, nn.Parameter(torch.empty(0, width)))
        self.out = Biases(vocabulary.size, spec.bias)  # type: ignore[assignment]
        self.words = spec.characters.build(vocabulary, width)
        self.corrections = nn.Embedding(vocabulary.size, spec.correction) if spec.correction else None
        self.correct = nn.Linear(spec.correction, width, bias=False) if spec.correction else None

    def rows(self, ids: Tensor) -> Tensor:
        made = self.words(ids)
        if self.corrections is not None and self.correct is not None:
            made = made + self.correct(self.corrections(ids))
        return made

    def table(self) -> Tensor:
        return self.rows(torch.arange(len(self.ranked), device=self.ranked.device))

    def summed(self, hidden: Tensor, targets: Tensor) -> Tensor:
        if self.training and self.spec.samples:
            return super().summed(hidden, targets)
        return summed_nll(hidden, self.table(), self.out.bias, targets)

    def logits(self, hidden: Tensor) -> Tensor:
        made = hidden @ self.table().t()
        return made if self.out.bias is None else made + self.out.bias
