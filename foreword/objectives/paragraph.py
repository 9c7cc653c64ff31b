"""Paragraph vectors: the vector of a document helps to guess its words, or alone does (Le & Mikolov 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from foreword.batches.row import Row
from foreword.objectives.skip_gram import SkipGram
from foreword.vectors.context_prediction import ContextPrediction
from foreword.vectors.table import VectorTable


class DistributedMemory(SkipGram):
    """PV-DM: the document and the words around a word guess it, by their mean, their sum, or side by side.

    pool "word_mean": divided by the words alone, so that a document of zeros leaves continuous bag of words.
    """

    kind: Literal["distributed_memory"] = "distributed_memory"  # type: ignore[assignment]
    networks: ClassVar[tuple[str, ...]] = ("document_vectors",)
    cuts: ClassVar[tuple[str, ...]] = ("documents",)
    pools: ClassVar[tuple[str, ...]] = ("mean", "word_mean", "sum", "concatenation")
    pool: str = "mean"
    sides: Literal["both", "before"] = "both"  # the paper's words guess the next one

    @property
    def joined(self) -> int:
        return 1 + self.window * (2 if self.sides == "both" else 1) if self.pool == "concatenation" else 1

    def learn(
        self, table: VectorTable, made: ContextPrediction, rows: Sequence[Row], rate: float, seed: int, threads: int = 1
    ) -> tuple[float, int]:
        documents = [row.document for row in rows if row.document is not None]
        return made.learn(table, [row.ids for row in rows], rate, seed, threads, documents)


class DistributedBagOfWords(DistributedMemory):
    """PV-DBOW: the document alone guesses each of its words; with `words`, skip-gram is learned beside it."""

    kind: Literal["distributed_bag_of_words"] = "distributed_bag_of_words"  # type: ignore[assignment]
    pools: ClassVar[tuple[str, ...]] = ("each",)
    pool: str = "each"
    words: bool = True  # without, their vectors stay as they were drawn
