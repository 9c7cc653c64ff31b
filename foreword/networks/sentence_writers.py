"""SentenceWriters: one sentence is read into a vector, and others are written from it. Skip-Thought."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.networks.base import Inputs, Network, NetworkSpec, Output
from foreword.networks.source_reader import SourceReader
from foreword.parts.gru import GruLayer
from foreword.parts.initial import RecurrentInitial
from foreword.tokens.vocabulary import Vocabulary

Directions = Literal["forward", "both"]


class SentenceWritersSpec(NetworkSpec):
    """Kiros et al. 2015. Readers stand side by side: each has a vector of the sentence, and writers of its own."""

    kind: Literal["sentence_writers"] = "sentence_writers"
    reads: ClassVar[frozenset[str]] = frozenset({"ids", "real", "source", "source_real"})
    width: Size  # of a reader's vector, of both its directions together, and of its writers
    embedding: Size  # of the word vectors
    readers: tuple[Directions, ...] = ("forward",)  # uni-skip; ["both"]: bi-skip; ["forward", "both"]: combine-skip
    writers: Size = 2  # of each reader: the sentence before, the sentence behind
    initial: RecurrentInitial = RecurrentInitial()

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if not self.readers:
            found.append(("readers", 'somebody has to read: readers = ["forward"].'))
        if "both" in self.readers and self.width % 2:
            found.append(("width", f"width must be even: half of it is of each direction (it says {self.width})."))
        return found

    def build(self, vocabulary: Vocabulary) -> SentenceWriters:
        return SentenceWriters(self, vocabulary.size)


class Reader(nn.Module):
    """A GRU from the first word to the last, or one from either end, half as wide each."""

    def __init__(self, inputs: int, width: int, directions: Directions):
        super().__init__()
        self.layers = nn.ModuleList(
            [GruLayer(inputs, width // n) for n in ((1,) if directions == "forward" else (2, 2))]
        )

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """x [batch, positions, inputs], real [batch, positions] -> a state at each position, and those after all words."""
        there, last = [], []
        for layer, turned in zip(self.layers, (False, True)):
            there_first = (real.flip(1) if turned else real).int()
            places = there_first.argsort(dim=1, descending=True, stable=True)[..., None]
            places = x.size(1) - 1 - places if turned else places  # real words first, in the order they are read
            made, _ = layer(x.gather(1, places.expand_as(x)).transpose(0, 1), layer.start(len(x), x))  # type: ignore[operator]
            made = made.transpose(0, 1)
            ends = (real.sum(1) - 1).clamp(min=0)
            last.append(made[torch.arange(len(x), device=x.device), ends])
            there.append(torch.zeros_like(made).scatter(1, places.expand_as(made), made))
        return torch.cat(there, -1), torch.cat(last, -1)


class Writer(nn.Module):
    """A GRU whose gates all hear the sentence that was read, at every word."""

    def __init__(self, inputs: int, sentence: int, width: int):
        super().__init__()
        self.hears = nn.Linear(sentence, 3 * width, bias=False)  # C_r, C_z, C
        self.layer = GruLayer(inputs, width)

    def forward(self, x: Tensor, state: Tensor | None, sentence: Tensor) -> tuple[Tensor, Tensor]:
        """x [batch, positions, inputs], sentence [batch, sentence's width]"""
        state = self.layer.start(len(x), x) if state is None else state
        made, state = self.layer(x.transpose(0, 1), state, self.hears(sentence))
        return made.transpose(0, 1), state


class WriterOutput(NamedTuple):
    """The sentence as the last reader has it, and the state of its last writer."""

    sentence: Tensor
    writer: Tensor


class SentenceWriters(Network):
    """With a source: what is written from it. Without: what the readers make of `ids`, for vectors and labelled tasks.

    `ids` [batch, writers, positions] go to all writers; [batch, positions] to the last, which writes what comes next.
    """

    reads = frozenset({"ids", "real", "source", "source_real"})
    reads_left_to_right = False  # a reader from the right meets padding first

    def __init__(self, spec: SentenceWritersSpec, vocabulary: int):
        super().__init__()
        self.spec, self.written, self.width = spec, spec.width, spec.width * len(spec.readers)
        self.tokens = nn.Embedding(vocabulary, spec.embedding)
        self.readers = nn.ModuleList([Reader(spec.embedding, spec.width, directions) for directions in spec.readers])
        writers = [[Writer(spec.embedding, spec.width, spec.width) for _ in range(spec.writers)] for _ in spec.readers]
        self.writers = nn.ModuleList([nn.ModuleList(some) for some in writers])
        self.draw(self)

    def forward(self, inputs: Inputs, state: WriterOutput | None = None) -> Output:
        x = self.tokens(inputs.ids)
        if state is None and inputs.source is None:
            vectors = torch.cat([there for there, _ in self.read(inputs.ids, inputs.real)], -1)
            return Output(vectors, (x, vectors))
        sentences = [state.sentence] if state else [last for _, last in self.read(inputs.source, inputs.source_real)]
        if inputs.ids.dim() == 2:
            last, after = self.writers[-1][-1](x, state.writer if state else None, sentences[-1])  # type: ignore[index]
            return Output(last, (x, last), WriterOutput(sentences[-1], after))
        each = [
            torch.stack([writer(x[:, n], None, sentence)[0] for n, writer in enumerate(some.children())], 1)
            for some, sentence in zip(self.writers, sentences)
        ]
        made = torch.stack(each, 1)  # [batch, readers, writers, positions, width]
        return Output(made, (x, made))

    def read(self, ids: Tensor | None, real: Tensor | None) -> list[tuple[Tensor, Tensor]]:
        assert ids is not None
        x, real = self.tokens(ids), torch.ones_like(ids, dtype=torch.bool) if real is None else real
        return [reader(x, real) for reader in self.readers]

    def vector(self, vectors: Tensor) -> Tensor:
        """A direction has read all where it ends: at the last word, or at the first."""
        halves = [vectors[place, part] for place, part in self._ends()]
        return torch.cat(halves)

    def _ends(self) -> list[tuple[int, slice]]:
        """(position at which it ends, its numbers) of each direction of each reader."""
        found, at = [], 0
        for reader in self.readers:
            for layer, place in zip(reader.layers, (-1, 0)):  # type: ignore[arg-type]
                found.append((place, slice(at, at + layer.width)))
                at += layer.width
        return found

    def tables(self) -> dict[str, Tensor]:
        return {"tokens": self.tokens.weight}

    def levels(self) -> list[list[nn.Parameter]]:
        """Those that read: what writes lies above all of them."""
        return [list(self.tokens.parameters()), list(self.readers.parameters())]

    def draw(self, module: nn.Module) -> None:
        self.spec.initial.draw(module)

    def language_model(self, head: nn.Module, vocabulary: Vocabulary) -> SourceReader:
        return SourceReader(self, head, vocabulary, Inputs)
