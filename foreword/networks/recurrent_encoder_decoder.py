"""RecurrentEncoderDecoder: LSTMs from both ends read a source, another writes and looks back at it. CoVe's translation model."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Below1, Layers, Size
from foreword.networks.base import Inputs, Network, NetworkSpec, Output
from foreword.networks.source_reader import SourceReader
from foreword.parts.bidirectional_layers import BidirectionalLayers
from foreword.parts.initial import RecurrentInitial
from foreword.tokens.vocabulary import Vocabulary


class RecurrentEncoderDecoderSpec(NetworkSpec):
    """McCann et al. 2017, section 3. `tokens_from` gives the vectors of the source's words; the target has its own table."""

    kind: Literal["recurrent_encoder_decoder"] = "recurrent_encoder_decoder"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "source", "source_real"})
    width: Size  # of each layer: of both directions of the encoder together, and of the decoder
    embedding: Size  # of the word vectors
    layers: Layers = 2
    context: Size = 256  # positions of the source, and of the target
    attention: bool = True  # without: the decoder sees the mean of the source's vectors
    dropout: Below1 = 0.0  # on word vectors, between layers, and on what the head reads
    initial: RecurrentInitial = RecurrentInitial()

    def faults(self) -> list[tuple[str, str]]:
        if self.width % 2 == 0:
            return []
        return [("width", f"width must be even: half of it is of each direction (it says {self.width}).")]

    def build(self, vocabulary: Vocabulary) -> RecurrentEncoderDecoder:
        return RecurrentEncoderDecoder(self, vocabulary.size)


class GlobalAttention(nn.Module):
    """alpha = softmax(H (W1 h + b1)); what is said is tanh(W2 [H' alpha; h] + b2)."""

    def __init__(self, width: int, on: bool):
        super().__init__()
        self.asks = nn.Linear(width, width) if on else None
        self.says = nn.Linear(2 * width, width)

    def shares(self, h: Tensor, source: Tensor, real: Tensor) -> Tensor:
        """h [batch, width], source [batch, positions, width] -> [batch, positions], which sum to one; 0 at padding."""
        if self.asks is None:
            return real / real.sum(1, keepdim=True)
        scores = (source @ self.asks(h)[..., None])[..., 0]
        return scores.masked_fill(~real, float("-inf")).softmax(-1)

    def forward(self, h: Tensor, source: Tensor, real: Tensor) -> Tensor:
        seen = (self.shares(h, source, real).to(source)[:, None] @ source)[:, 0]
        return self.says(torch.cat([seen, h], -1)).tanh()


class RecurrentDecoderState(NamedTuple):
    """The source as it was read, what was said last, and the hidden and cell states of each layer."""

    source: Tensor
    real: Tensor
    said: Tensor
    layers: tuple[tuple[Tensor, Tensor], ...]


class RecurrentEncoderDecoder(Network):
    """With a source: what is written from it. Without: `ids` as the encoder reads them, which are CoVe's vectors."""

    reads = frozenset({"ids", "real", "source", "source_real"})
    reads_left_to_right = False  # the encoder is no language model

    def __init__(self, spec: RecurrentEncoderDecoderSpec, vocabulary: int):
        super().__init__()
        self.spec, self.width, self.context = spec, spec.width, spec.context
        self.tokens, self.targets = (nn.Embedding(vocabulary, spec.embedding) for _ in range(2))
        self.encoder = BidirectionalLayers(spec.embedding, spec.width, spec.layers, spec.dropout)
        inputs = [spec.embedding + spec.width, *[spec.width] * (spec.layers - 1)]  # what was said is fed back
        self.decoder = nn.ModuleList([nn.LSTMCell(size, spec.width) for size in inputs])
        self.attention, self.drop = GlobalAttention(spec.width, spec.attention), nn.Dropout(spec.dropout)
        self.draw(self)

    def forward(self, inputs: Inputs, state: RecurrentDecoderState | None = None) -> Output:
        if state is None and inputs.source is None:
            x = self.tokens(inputs.ids)
            layers = self.encoder(self.drop(x), inputs.real)
            return Output(layers[-1], (x, *layers))
        state = state or self.read(inputs)
        x = self.targets(inputs.ids)
        said, each, cells = state.said, [], state.layers
        for now in self.drop(x).unbind(1):
            below, after = torch.cat([now, said], -1), []
            for layer, before in zip(self.decoder, cells):
                below, cell = layer(below, before)
                after.append((below, cell))
                below = self.drop(below)
            said, cells = self.attention(below, state.source, state.real), tuple(after)
            each.append((*(hidden for hidden, _ in after), said))
        made = [torch.stack(outputs, 1) for outputs in zip(*each)]
        return Output(
            self.drop(made[-1]), (x, *made[:-1]), RecurrentDecoderState(state.source, state.real, said, cells)
        )

    def read(self, inputs: Inputs) -> RecurrentDecoderState:
        source, real = inputs.source, inputs.source_real
        assert source is not None
        read = self.encoder(self.drop(self.tokens(source)), real)[-1]
        nothing = read.new_zeros(len(read), self.width)
        there = torch.ones_like(source, dtype=torch.bool) if real is None else real
        return RecurrentDecoderState(read, there, nothing, ((nothing, nothing),) * self.spec.layers)

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight, "target_tokens": self.targets.weight}

    def levels(self) -> list[list[nn.Parameter]]:
        """Those of the encoder: what writes lies above all of them."""
        tables = [*self.tokens.parameters(), *self.targets.parameters()]
        return [tables, *(list(layer.parameters()) for layer in self.encoder.layers)]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.draw(module)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> SourceReader:
        return SourceReader(self, head, vocabulary, Inputs)
