"""PrefixTransformer: one stack reads a source and writes a target behind it, a prefix LM or an LM (Raffel et al. 2019, 3.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from foreword.networks.base import Inputs, Output
from foreword.networks.causal import CausalState, CausalTransformer, CausalTransformerSpec
from foreword.networks.source_reader import SourceReader
from foreword.parts.embeddings import Embeddings
from foreword.parts.stack import StackSpec
from foreword.parts.visible import CausalPattern, PrefixPattern, Whole
from foreword.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from foreword.networks.encoder_decoder import EncoderDecoderSpec


class PrefixTransformer(CausalTransformer):
    """Takes what an encoder-decoder takes. The source stands before the target in the same row: as a prefix LM it is seen both
    ways, as an LM from left to right; the target sees all of it, and itself from left to right.
    """

    reads = frozenset({"ids", "real", "source", "source_real"})

    def __init__(self, spec: EncoderDecoderSpec, vocabulary: int):
        shared = {name: getattr(spec, name) for name in StackSpec.model_fields if name != "context"}
        stack = CausalTransformerSpec.model_construct(
            context=2 * spec.context, visible=spec.visible, **shared
        )  # of source and target
        super().__init__(stack, vocabulary)
        self.both_ways = spec.one_stack == "prefix"
        self.embeddings = Embeddings(stack, vocabulary, bool(spec.embedding_norm), both_ways=self.both_ways)
        self.context = spec.context

    def forward(self, inputs: Inputs, state: CausalState | None = None) -> Output:
        """`inputs.ids` is the target so far; the source is read once, by the first call."""
        if state is not None:
            return super().forward(Inputs(inputs.ids, inputs.real), state)
        if inputs.source is None:
            raise TypeError("a prefix needs a source")
        source, there = leftward(inputs.source, inputs.source_real)
        real = None
        if there is not None or inputs.real is not None:
            both = zip((there, inputs.real), (source, inputs.ids))
            real = torch.cat([torch.ones_like(x, dtype=torch.bool) if one is None else one for one, x in both], 1)
        read = super().forward(replace(inputs, ids=torch.cat([source, inputs.ids], 1), real=real))
        target = slice(source.size(1), None)
        return replace(read, last=read.last[:, target], layers=tuple(layer[:, target] for layer in read.layers))

    def pattern_for(self, inputs: Inputs) -> Whole:
        return CausalPattern() if inputs.source is None or not self.both_ways else PrefixPattern(inputs.source.size(1))

    def draw(self, module: nn.Module) -> None:
        super().draw(module)
        if self.spec.initial.tokens is not None:  # a head that shares the table has just drawn it
            self.spec.initial.draw(self.table(), self.spec.initial.tokens)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> SourceReader:
        return SourceReader(self, head, vocabulary, Inputs)


def leftward(source: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The same with padding in front, so that the last token of each source stands right before its target."""
    if real is None:
        return source, None
    length = source.size(1)
    places = (torch.arange(length, device=source.device) + real.sum(1, keepdim=True)) % length
    return source.gather(1, places), real.gather(1, places)
