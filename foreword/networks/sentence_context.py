"""SentenceContext: a vector of every sentence, and one of all sentences so far. Contrastive predictive coding of text."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.networks.base import Inputs, Network, NetworkSpec, Output, State
from foreword.parts.initial import RecurrentInitial
from foreword.tokens.vocabulary import Vocabulary


class SentenceContextSpec(NetworkSpec):
    """Van den Oord et al. 2018, section 3.4: z, a convolution over the words and the mean of it; c, a GRU over sentences."""

    kind: Literal["sentence_context"] = "sentence_context"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real"})
    width: Size  # of z and of c
    embedding: Size  # of the word vectors
    kernel: Size = 3  # words that the convolution sees, an odd number; the paper does not say
    initial: RecurrentInitial = RecurrentInitial()

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.kernel % 2 else [("kernel", f"kernel must be odd (it says {self.kernel}).")]

    def build(self, vocabulary: Vocabulary) -> SentenceContext:
        return SentenceContext(self, vocabulary.size)


class SentenceContext(Network):
    """`ids` [batch, positions]: the convolution at each word, whose mean is z.

    `ids` [batch, excerpts, sentences, positions]: `layers` are z of each and c after it [..., width].
    """

    reads = frozenset({"ids", "real"})

    def __init__(self, spec: SentenceContextSpec, vocabulary: int):
        super().__init__()
        self.spec, self.width = spec, spec.width
        self.tokens = nn.Embedding(vocabulary, spec.embedding)
        self.convolve = nn.Conv1d(spec.embedding, spec.width, spec.kernel, padding=spec.kernel // 2)
        self.context_of = nn.GRU(spec.width, spec.width, batch_first=True)
        self.draw(self)

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        ids, real = inputs.ids, inputs.real
        if ids.dim() == 2:
            x, words = self.words(ids, real)
            return Output(words, (x, words))
        there = torch.ones_like(ids, dtype=torch.bool) if real is None else real
        _, words = self.words(ids.flatten(0, -2), there.flatten(0, -2))
        z = words.sum(1) / there.flatten(0, -2).sum(1, keepdim=True).clamp(min=1)
        z = z.unflatten(0, ids.shape[:-1])
        c = self.context_of(z.flatten(0, 1))[0].view_as(z)
        return Output(c, (z, c))

    def words(self, ids: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
        """Word vectors and what the convolution makes of them, both nothing at padding."""
        x = self.tokens(ids)
        x = x if real is None else x * real[..., None]
        made = self.convolve(x.transpose(1, 2)).relu().transpose(1, 2)
        return x, made if real is None else made * real[..., None]

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight}

    def levels(self) -> list[list[nn.Parameter]]:
        """Those of a sentence: what reads sentences lies above them."""
        return [list(self.tokens.parameters()), list(self.convolve.parameters())]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.draw(module)
