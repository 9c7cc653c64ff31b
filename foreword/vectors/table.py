"""VectorTable: one vector for each token, and one for each token that is guessed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.basics.spec import Spec

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary


class VectorTableSpec(Spec):
    kind: Literal["vectors"] = "vectors"
    trained_by: ClassVar[str] = "online"
    reads: ClassVar[frozenset[str]] = frozenset({"ids"})
    abilities: ClassVar[frozenset[str]] = frozenset({"embed", "neighbours"})
    width: int = 100

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.width > 0 else [("width", f"width must be at least 1 (it says {self.width}).")]

    def build(self, vocabulary: Vocabulary) -> VectorTable:
        return VectorTable(vocabulary, self.width)


class VectorTable:
    def __init__(self, vocabulary: Vocabulary, width: int):
        self.vocabulary, self.width = vocabulary, width
        self.vectors = np.zeros((vocabulary.size, width), np.float32)  # of a token itself
        self.outputs = np.zeros((vocabulary.size, width), np.float32)  # of a token that is guessed

    def begin(self, seed: int) -> None:
        """Vectors are drawn uniformly within half over the width, outputs are zero (word2vec)."""
        drawn = chance(number_of("weights", seed)).random(self.vectors.shape) - 0.5
        self.vectors[:] = drawn / self.width

    def parameter_count(self) -> int:
        return self.vectors.size + self.outputs.size

    def arrays(self) -> dict[str, np.ndarray]:
        return {"vectors": self.vectors, "outputs": self.outputs}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take back what `arrays` gave."""
        self.vectors, self.outputs = (np.array(arrays[name], np.float32) for name in ("vectors", "outputs"))

    def language_model(self, vocabulary: Vocabulary) -> NoReturn:
        raise Fault("a table of vectors gives no probabilities: it has no bits per byte.")

    def embed(self, ids: np.ndarray) -> np.ndarray:
        """The mean of the vectors of these tokens; zeros for none."""
        return self.vectors[ids].mean(0) if len(ids) else np.zeros(self.width, np.float32)

    def neighbours(self, vector: np.ndarray, most: int, without: tuple[int, ...] = ()) -> list[tuple[int, float]]:
        """(token, cosine) of the vectors nearest to this one."""
        lengths = np.linalg.norm(self.vectors, axis=1) * np.linalg.norm(vector)
        cosines = self.vectors @ vector / np.maximum(lengths, 1e-12)
        cosines[[*without, *self.vocabulary.silent]] = -2.0
        order = np.argsort(-cosines, kind="stable")[:most]
        return [(int(token), float(cosines[token])) for token in order]
