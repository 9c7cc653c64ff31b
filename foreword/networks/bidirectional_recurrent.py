"""Two recurrent stacks over the same words, one from either end, that never meet. ELMo's bidirectional language model."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from foreword.networks.base import Inputs, Network, Output, State
from foreword.networks.recurrent import RecurrentSpec
from foreword.parts.words import WordTable
from foreword.tokens.vocabulary import Vocabulary


class BidirectionalRecurrentSpec(RecurrentSpec):
    """`width` and what follows from it is that of each direction."""

    kind: Literal["bidirectional_recurrent"] = "bidirectional_recurrent"  # type: ignore[assignment]
    abilities: ClassVar[frozenset[str]] = frozenset({"embed"})
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real"})

    def build(self, vocabulary: Vocabulary) -> BidirectionalRecurrent:  # type: ignore[override]
        return BidirectionalRecurrent(self, vocabulary)


class BidirectionalRecurrent(Network):
    """Every layer is [forward; backward], the word vectors twice, so that all are equally wide."""

    reads = frozenset({"ids", "real"})

    def __init__(self, spec: BidirectionalRecurrentSpec, vocabulary: Vocabulary):
        super().__init__()
        self.spec, self.dropout = spec, spec.rates()
        self.tokens = spec.words.build(vocabulary, spec.token_width)
        self.forwards, self.backwards = spec.stack(), spec.stack()
        self.width = 2 * spec.output_width
        self.draw(self)

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        drop = self.dropout
        x = self.tokens(inputs.ids, drop.words if self.training else 0.0)
        x = drop.on(x, drop.input, 1) if self.training else x
        real = inputs.real
        there, _ = self.forwards(x, self.forwards.start(x.size(0), x), real)
        turned = x.flip(1), self.backwards.start(x.size(0), x), None if real is None else real.flip(1)
        back, _ = self.backwards(*turned)
        both = [torch.cat([one, other.flip(1)], -1) for one, other in zip(there, back)]
        last = drop.on(both[-1], drop.output, 1) if self.training else both[-1]
        return Output(last, (torch.cat([x, x], -1), *both))

    def table(self) -> Tensor:
        return self.tokens.every()

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight} if isinstance(self.tokens, WordTable) else {}

    def levels(self) -> list[list[nn.Parameter]]:
        both = zip(self.forwards.levels(), self.backwards.levels())
        return [list(self.tokens.parameters()), *([*one, *other] for one, other in both)]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.draw(module)
