"""PmiTable: co-occurrences that were counted, and vectors made of them by singular values."""

from __future__ import annotations

from typing import Literal

import numpy as np

from foreword.basics.columns import Column, Scratch
from foreword.basics.numbers import NotNegative
from foreword.basics.seeds import number_of
from foreword.kernels.sparse import multiply
from foreword.kernels.word_vectors import padded
from foreword.tokens.vocabulary import Vocabulary
from foreword.vectors.association import Association, Measure
from foreword.vectors.cooccurrence import Cleaned, CooccurrenceWindow, PairTable, count_pairs, shuffled_inside
from foreword.vectors.svd import left_vectors
from foreword.vectors.table import VectorTable, VectorTableSpec


class Pmi(VectorTableSpec):
    """What stands together more often than by chance: a sparse table of pairs, and its vectors by singular values."""

    kind: Literal["pmi"] = "pmi"  # type: ignore[assignment]
    trained_by = "counting"
    measure: Measure = "ppmi"  # of which vectors are made
    add: NotNegative = 0.0  # to the count of every pair there could be
    power: float = 0.75  # of the frequencies of the words around (Levy et al. 2015); 1: as they are
    values: float = 0.5  # power of the singular values by which the directions are stretched

    def faults(self) -> list[tuple[str, str]]:
        return super().faults() + self.association().faults()

    def association(self) -> Association:
        return Association.model_construct(measure=self.measure, add=self.add, power=self.power)

    def parameters(self, words: int, documents: int = 0, joined: int = 1) -> int:
        return words * self.width

    def build(self, vocabulary: Vocabulary) -> PmiTable:
        return PmiTable(vocabulary, self)


class PmiTable(VectorTable):
    """Counting keeps the words themselves (two or four bytes each), so a checkpoint is exactly what was read."""

    def __init__(self, vocabulary: Vocabulary, spec: Pmi):
        super().__init__(vocabulary, spec.width)
        self.spec = spec
        self.count_by(CooccurrenceWindow())
        self.pairs = PairTable.of(np.zeros(0, np.int64), np.zeros(0), vocabulary.size)
        self.bounded(None)

    def parameter_count(self) -> int:
        return 0

    def count_by(self, near: CooccurrenceWindow) -> None:
        """What it means to stand near each other; said before anything is counted."""
        self.near, self.cleaned = near, Cleaned(self.vocabulary, near.border)

    def bounded(self, memory: int | None, cluster: str = "") -> None:
        """Count in so many bytes of memory, about; the rest lies on disk meanwhile. Changes no number."""
        self.scratch = Scratch(memory, cluster=cluster)
        self.read = self._nothing()

    def _nothing(self) -> Column:
        return self.scratch.column(np.uint16 if self.vocabulary.size < 1 << 16 else np.uint32)

    def count(self, ids: np.ndarray) -> int:
        """Add one run of the text; it goes on where the run before it stopped."""
        self.read.append(self.cleaned(ids))
        return len(ids)

    def counted(self) -> dict[str, np.ndarray]:
        return {"ids": self.read.array()}

    def recount(self, saved: dict[str, np.ndarray]) -> None:
        self.read.clear()
        self.read.append(saved["ids"])

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """Nothing is fitted on held-out text."""
        border, text = self.vocabulary.size, self.read
        if self.near.shuffled:
            text = self._nothing().append(shuffled_inside(self.read[:], border, number_of("shuffled")))
        keys, counts = count_pairs(text, self.near, border)
        self.pairs = PairTable.of(keys.array(), counts.array(), border, self.near.unit)
        self.vectors[:] = self.made_vectors()

    def made_vectors(self) -> np.ndarray:
        whole, sums = self.pairs.whole(), self.pairs.sums
        rows, how = whole.rows, self.spec.association()
        values = how.of(whole.counts, sums[rows], sums[whole.columns], sums).astype(np.float32)
        mirrored = how.of(whole.counts, sums[whole.columns], sums[rows], sums).astype(np.float32)
        left, singular = left_vectors(
            lambda dense: multiply(whole.starts, whole.columns, values, dense),
            lambda dense: multiply(whole.starts, whole.columns, mirrored, dense),
            whole.size,
            self.width,
        )
        return left * singular**self.spec.values

    def arrays(self) -> dict[str, np.ndarray]:
        return {"vectors": self.vectors.copy(), "counts": self.counts, **self.pairs.arrays()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.vectors = padded(*arrays["vectors"].shape)
        self.vectors[:] = arrays["vectors"]
        self.counts = np.array(arrays["counts"], np.int64)
        self.pairs = PairTable.restored(arrays)
