"""Guessing: how the words of a text are guessed from vectors, made once for a table. For training and inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.basics.seeds import chance
from foreword.kernels.word_vectors import Huffman, NoiseDistribution, Update, learn
from foreword.vectors.contexts import Contexts, Form
from foreword.vectors.table import VectorTable


@dataclass(frozen=True)
class ContextPrediction:
    contexts: Contexts
    how: NoiseDistribution | Huffman
    pool: str
    places: tuple[int, int]  # side by side: so many words before, and so many after
    empty: int  # the vector that stands where there is no word

    @staticmethod
    def of(
        table: VectorTable,
        *,
        pool: str,
        window: int,
        shrink: bool,
        negatives: int,
        power: float,
        subsample: float,
        subsampling: Form,
        sides: str = "both",
        words: bool = True,
        **other: Any,
    ) -> ContextPrediction:
        """From the settings of an objective. `words` False: a document alone guesses."""
        beside, before = pool == "concatenation", sides == "before"
        reach = window if words else 0
        contexts = Contexts(table, reach, subsample, subsampling, shrink and not beside, before)
        weights = np.where(contexts.counts > 0, contexts.counts.astype(float) ** power, 0.0)
        how = NoiseDistribution(weights, negatives) if negatives else Huffman(contexts.counts)
        made = ContextPrediction(contexts, how, pool, (window, 0 if before else window), table.vocabulary.end)
        table.join(made.update(0.0, 0).joined)
        return made

    def update(self, rate: float, seed: int, **what: Any) -> Update:
        places = self.places if self.pool == "concatenation" else (0, 0)
        return Update(self.how, rate, seed, self.pool, places=places, empty=self.empty, **what)

    def learn(
        self,
        table: VectorTable,
        texts: Sequence[np.ndarray],
        rate: float,
        seed: int,
        threads: int = 1,
        documents: Sequence[int] = (),
    ) -> tuple[float, int]:
        """Go through some texts, updating the table after every guess. (nats of a sample of them, how many those were)

        documents: the row of the table's documents that is each text's own.
        """
        text = self.contexts.stretch(texts, chance(seed), documents)
        return learn(table.vectors, table.outputs, text, self.update(rate, seed, threads=threads), table.documents)
