"""GloveTable: two vectors and two biases for each word; looked up is the sum of both vectors."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal

import numpy as np

from foreword.basics.seeds import chance, number_of
from foreword.kernels.glove import Parameters
from foreword.kernels.word_vectors import LINE, padded
from foreword.tokens.vocabulary import Vocabulary
from foreword.vectors.table import VectorTable, VectorTableSpec


class GloveSpec(VectorTableSpec):
    """Two vectors and two biases for each word."""

    kind: Literal["glove"] = "glove"  # type: ignore[assignment]
    lookup: Literal["sum", "own"] = "sum"  # of both vectors, or a word's own alone

    def parameters(self, words: int, documents: int = 0, joined: int = 1) -> int:
        return 2 * words * (self.width + 1)

    def build(self, vocabulary: Vocabulary) -> GloveTable:
        return GloveTable(vocabulary, self)


class GloveTable(VectorTable):
    """`vectors` are made of the others when they are asked for, saved or opened."""

    def __init__(self, vocabulary: Vocabulary, spec: GloveSpec):
        super().__init__(vocabulary, spec.width)
        size, self.spec = vocabulary.size, spec
        squares = [
            padded(size, -(-spec.width // LINE) * LINE) for _ in range(2)
        ]  # all of a row: nothing is divided by 0
        biases = [np.zeros(size, np.float32) for _ in range(4)]
        self.fitted = Parameters(padded(size, spec.width), self.outputs, *squares, *biases)
        self._forget_squares()

    def _forget_squares(self) -> None:
        for name in self._squares():
            getattr(self.fitted, name)[:] = 1.0

    def _squares(self) -> list[str]:
        return [field.name for field in fields(Parameters) if field.name.endswith("squares")]

    def begin(self, seed: int) -> None:
        """All is drawn uniformly within half over the width and one, as the original program does."""
        draw = chance(number_of("weights", seed))
        for name in ("own", "outputs", "biases", "output_biases"):
            array = getattr(self.fitted, name)
            array[:] = (draw.random(array.shape) - 0.5) / (self.width + 1)

    def parameter_count(self) -> int:
        return self.spec.parameters(self.vocabulary.size)

    def look_up(self) -> None:
        """Make `vectors` of what was fitted."""
        self.vectors[:] = self.fitted.own + (self.fitted.outputs if self.spec.lookup == "sum" else 0.0)

    def arrays(self) -> dict[str, np.ndarray]:
        self.look_up()
        names = ("own", "outputs", "biases", "output_biases")
        kept = {name: np.array(getattr(self.fitted, name)) for name in names}
        return {"vectors": self.vectors.copy(), **kept, "counts": self.counts}

    def state(self) -> dict[str, np.ndarray]:
        return {**self.arrays(), **{name: np.array(getattr(self.fitted, name)) for name in self._squares()}}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self._forget_squares()
        for field in fields(Parameters):
            if field.name in arrays:
                getattr(self.fitted, field.name)[:] = arrays[field.name]
        self.counts = np.array(arrays["counts"], np.int64)
        self.look_up()
