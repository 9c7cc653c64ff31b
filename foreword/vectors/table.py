"""VectorTable: one vector for each token, and one for each token that is guessed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.basics.seeds import chance, number_of
from foreword.basics.spec import Spec
from foreword.kernels.word_vectors import padded

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary

NO_BITS = "A table of vectors gives no probabilities: it has no bits per byte."


class VectorTableSpec(Spec):
    kind: Literal["vectors"] = "vectors"
    trained_by: ClassVar[str] = "online"
    reads: ClassVar[frozenset[str]] = frozenset({"ids"})
    abilities: ClassVar[frozenset[str]] = frozenset({"embed", "neighbours"})
    width: Size = 100

    def parameters(self, words: int, documents: int = 0, joined: int = 1) -> int:
        """Numbers that are learned for so many words, if so many vectors side by side guess one; documents have none here."""
        return (1 + joined) * words * self.width

    def build(self, vocabulary: Vocabulary) -> VectorTable:
        return VectorTable(vocabulary, self.width)


class DocumentTableSpec(VectorTableSpec):
    """Beside the words, a vector for each document of the training text."""

    kind: Literal["document_vectors"] = "document_vectors"  # type: ignore[assignment]

    def parameters(self, words: int, documents: int = 0, joined: int = 1) -> int:
        return super().parameters(words, documents, joined) + documents * self.width

    def build(self, vocabulary: Vocabulary) -> DocumentTable:
        return DocumentTable(vocabulary, self.width)


class VectorTable:
    """`counts`: how often each token occurs in the training text, which is kept with the vectors."""

    documents: np.ndarray | None = None

    def __init__(self, vocabulary: Vocabulary, width: int):
        self.vocabulary, self.width = vocabulary, width
        self.vectors = padded(vocabulary.size, width)  # of a token itself
        self.outputs = padded(vocabulary.size, width)  # of a token that is guessed
        known = np.ones(vocabulary.size) if vocabulary.counts is None else vocabulary.counts
        self.counts = np.asarray(known, np.int64)

    def begin(self, seed: int) -> None:
        """Vectors are drawn uniformly within half over the width, outputs are zero (word2vec)."""
        drawn = chance(number_of("weights", seed)).random(self.vectors.shape) - 0.5
        self.vectors[:] = drawn / self.width

    def join(self, vectors: int) -> None:
        """Make the outputs as wide as so many vectors side by side: before anything is learned."""
        if self.outputs.size != vectors * self.vectors.size:
            self.outputs = padded(len(self.vectors), vectors, self.width)

    def parameter_count(self) -> int:
        return self.vectors.size + self.outputs.size

    def arrays(self) -> dict[str, np.ndarray]:
        return {"vectors": self.vectors.copy(), "outputs": self.outputs.copy(), "counts": self.counts}

    def state(self) -> dict[str, np.ndarray]:
        """All that is needed to go on learning."""
        return self.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take back what `arrays` gave, or `state`."""
        self.vectors, self.outputs = (as_padded(arrays[name]) for name in ("vectors", "outputs"))
        self.counts = np.array(arrays["counts"], np.int64)

    def language_model(self, vocabulary: Vocabulary) -> NoReturn:
        raise Fault(NO_BITS)

    def words(self) -> np.ndarray:
        """Which tokens are words of the text: not [end], [pad] and the like, nor what stands for all unknown ones."""
        known, vocabulary = np.ones(len(self.vectors), bool), self.vocabulary
        known[[*vocabulary.silent, *(id for id in (vocabulary.end, vocabulary.unknown) if id >= 0)]] = False
        return known

    def rarity(self) -> np.ndarray:
        """How much each token says: the logarithm of 1 over its share of the text; 0 for what is no word."""
        words, shares = self.words(), np.maximum(self.counts, 1) / max(self.counts.sum(), 1)
        return np.where(words, -np.log(shares), 0.0)


class DocumentTable(VectorTable):
    """`documents`: the vectors of the training text's documents, in the order of its store."""

    documents: np.ndarray

    def __init__(self, vocabulary: Vocabulary, width: int):
        super().__init__(vocabulary, width)
        self.documents = padded(vocabulary.documents, width)

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.documents[:] = (chance(number_of("documents", seed)).random(self.documents.shape) - 0.5) / self.width

    def parameter_count(self) -> int:
        return super().parameter_count() + self.documents.size

    def arrays(self) -> dict[str, np.ndarray]:
        return {**super().arrays(), "documents": self.documents.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.documents = as_padded(arrays["documents"])


def as_padded(array: np.ndarray) -> np.ndarray:
    made = padded(*array.shape)
    made[:] = array
    return made
