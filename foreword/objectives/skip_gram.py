"""SkipGram and CBOW: a word is guessed from the words around it, from each by itself or from their mean (Mikolov et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from foreword.basics.numbers import NotNegative, Size, Whole
from foreword.batches.row import Row
from foreword.objectives.base import Objective
from foreword.vectors.context_prediction import ContextPrediction
from foreword.vectors.contexts import Form
from foreword.vectors.table import VectorTable


class SkipGram(Objective):
    """Each word around a word guesses it, among `negatives` drawn at random, or turn by turn on its way in a Huffman tree."""

    kind: Literal["skip_gram"] = "skip_gram"
    networks: ClassVar[tuple[str, ...]] = ("vectors",)
    pools: ClassVar[tuple[str, ...]] = ("each",)
    pool: str = "each"
    window: Size = 5  # words to either side at most
    shrink: bool = True  # each word draws how many of them it sees, so that near ones count more
    negatives: Whole = 5  # 0: hierarchical softmax
    power: float = 0.75  # of the frequencies by which they are drawn
    subsample: NotNegative = 1e-3  # frequent words are left out, the more the further above this share of all; 0: none
    subsampling: Form = "code"  # "paper": the formula that is printed there

    def faults(self) -> list[tuple[str, str]]:
        if self.pool in self.pools:
            return []
        return [("pool", f"pool can be {' or '.join(map(repr, self.pools))} (it says {self.pool!r}).")]

    @property
    def joined(self) -> int:
        """How many vectors stand side by side to guess a word."""
        return 1

    def prepare(self, table: VectorTable) -> ContextPrediction:
        return ContextPrediction.of(table, **self.model_dump())

    def learn(
        self, table: VectorTable, made: ContextPrediction, rows: Sequence[Row], rate: float, seed: int, threads: int = 1
    ) -> tuple[float, int]:
        """Go through some texts, updating the table after every guess. (nats of a sample of them, how many those were)"""
        return made.learn(table, [row.ids for row in rows], rate, seed, threads)


class ContinuousBagOfWords(SkipGram):
    """The mean of the vectors around a word guesses it, or their sum."""

    kind: Literal["cbow"] = "cbow"  # type: ignore[assignment]
    pools: ClassVar[tuple[str, ...]] = ("mean", "sum")
    pool: str = "mean"
