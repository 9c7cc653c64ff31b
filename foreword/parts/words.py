"""From ids to word vectors: a table with a row for each, or each word's own spelling."""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Size, Whole
from foreword.basics.progress import say
from foreword.basics.spec import Spec
from foreword.tokens.vocabulary import Vocabulary

KEPT = 2**17  # words whose vectors are kept while nothing is learned
BEGIN, STOP, PAD = 256, 257, 258  # beside the 256 bytes of UTF-8


class WordsSpec(Spec):
    """How a word becomes a vector."""

    def build(self, vocabulary: Vocabulary, width: int) -> Any:
        """Ids to vectors of this width: [...] -> [..., width]; `every()` has those of all words."""
        raise TypeError(f"{type(self).__name__} has no build.")


class TableSpec(WordsSpec):
    """A row for each word."""

    kind: Literal["table"] = "table"

    def build(self, vocabulary: Vocabulary, width: int) -> WordTable:
        return WordTable(vocabulary.size, width)


class WordTable(nn.Embedding):
    def forward(self, ids: Tensor, drop: float = 0.0) -> Tensor:
        """ids [...] -> [..., width]. `drop`: this share of the words is gone, wherever they stand."""
        table = self.weight * F.dropout(self.weight.new_ones(len(self.weight), 1), drop) if drop else self.weight
        return F.embedding(ids, table)

    def every(self) -> Tensor:
        return self.weight


class Characters(WordsSpec):
    """Kim et al. 2016, Jozefowicz et al. 2016: convolutions over the bytes of a word, the largest of each, highway layers.

    A word that was never seen has a vector too, and words that are spelled alike have the same.
    """

    kind: Literal["characters"] = "characters"
    length: Size = 50  # bytes of a word, with the marks of its begin and its end; longer words are cut
    embedding: Size = 16  # width of the bytes' vectors
    filters: tuple[tuple[Size, Size], ...] = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    highway: Whole = 2  # layers
    activation: Literal["relu", "tanh"] = "relu"

    def faults(self) -> list[tuple[str, str]]:
        wide = [width for width, _ in self.filters if not 1 <= width <= self.length]
        found = [("filters", f"filters of {wide} bytes do not fit words of {self.length}.")] if wide else []
        return found + (
            [("length", "a word needs room for at least one byte and two marks.")] if self.length < 3 else []
        )

    def build(self, vocabulary: Vocabulary, width: int) -> CharacterWords:
        return CharacterWords(self, vocabulary, width)


class CharacterWords(nn.Module):
    letters: Tensor  # [vocabulary, length]: the bytes of each word between two marks, then padding

    def __init__(self, spec: Characters, vocabulary: Vocabulary, width: int):
        super().__init__()
        self.kept: Any = None
        self.register_buffer("letters", spelled(vocabulary, spec.length), persistent=False)
        total = sum(count for _, count in spec.filters)
        self.bytes = nn.Embedding(PAD + 1, spec.embedding)
        self.filters: Any = nn.ModuleList([nn.Conv1d(spec.embedding, count, size) for size, count in spec.filters])
        self.act = getattr(torch, spec.activation)
        self.highway: Any = nn.ModuleList([nn.Linear(total, 2 * total) for _ in range(spec.highway)])
        self.project = nn.Linear(total, width)

    def forward(self, ids: Tensor, drop: float = 0.0) -> Tensor:
        """ids [...] -> [..., width]; each word is spelled once, however often it stands there."""
        if not self.training and not torch.is_grad_enabled() and len(self.letters) <= KEPT:
            return F.embedding(ids, self._kept())
        if type(ids).__name__ == "FakeTensor":  # a plan asks for sizes: all words differ, and are as long as can be
            return self.convolved(self.letters[ids.flatten()]).view(*ids.shape, -1)
        words, places = ids.unique(return_inverse=True)
        vectors = self.spell(self.letters[words])
        if drop:
            vectors = vectors * F.dropout(vectors.new_ones(len(vectors), 1), drop)
        return F.embedding(places, vectors)

    def spell(self, letters: Tensor) -> Tensor:
        """letters [words, length] -> [words, width]"""
        longest = int((letters != PAD).sum(1).max())
        return self.convolved(letters[:, :longest])

    def convolved(self, letters: Tensor) -> Tensor:
        there = letters != PAD
        x = (self.bytes(letters.long()) * there[..., None]).transpose(1, 2)
        found = []
        for convolve in self.filters:
            padded = F.pad(x, (0, convolve.kernel_size[0] - 1))  # a window may begin at any byte of the word
            found.append(convolve(padded).masked_fill(~there[:, None], float("-inf")).amax(-1))
        y = self.act(torch.cat(found, -1))
        for layer in self.highway:
            new, gate = layer(y).chunk(2, -1)
            y = torch.lerp(y, new.relu(), gate.sigmoid())
        return self.project(y)

    def train(self, mode: bool = True) -> CharacterWords:
        self.kept = None  # a fused optimizer changes weights without counting their versions
        return super().train(mode)

    def _kept(self) -> Tensor:
        """All vectors, computed once for as long as the weights stay as they are: a vector is then the same in every batch."""
        weights = list(self.parameters())
        now = weights[0].dtype, weights[0].device, [(weight.data_ptr(), weight._version) for weight in weights]
        if self.kept is None or self.kept[0] != now:
            self.kept = now, self.every()
        return self.kept[1]

    @torch.no_grad()
    def every(self) -> Tensor:
        """The vectors of all words. [vocabulary, width]"""
        if self.letters.is_meta:
            return self.letters.new_empty(len(self.letters), self.project.out_features, dtype=self.project.weight.dtype)
        return torch.cat([self.spell(some) for some in self.letters.split(1024)])

    def settle(self) -> None:
        """Bytes and filters as torch draws them, and highways that at first carry on (ELMo's code)."""
        for part in (self.bytes, *self.filters, *self.highway, self.project):
            part.reset_parameters()
        for layer in self.highway:
            layer.bias.data[layer.out_features // 2 :] = -1.0


def spelled(vocabulary: Vocabulary, length: int) -> Tensor:
    """[vocabulary, length]; says how many words are cut."""
    found = torch.full((vocabulary.size, length), PAD, dtype=torch.int16, device="cpu")
    found[:, 0], found[:, 1] = BEGIN, STOP
    cut = 0
    for row, piece in zip(found, vocabulary.pieces):
        letters = list(piece.encode("utf-8", "surrogatepass"))
        cut += len(letters) > length - 2
        letters = [BEGIN, *letters[: length - 2], STOP]
        row[: len(letters)] = torch.tensor(letters, dtype=torch.int16, device="cpu")
    if cut:
        say(
            f"{cut:,} of {vocabulary.size:,} words have more than {length - 2} bytes: their vectors are of the first ones."
        )
    return found.to(torch.empty(0).device)
