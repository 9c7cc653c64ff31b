"""SkipGram: guess the words around a word, among a few drawn at random (Mikolov et al. 2013, negative sampling)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.objectives.base import Objective
from foreword.vectors.table import VectorTable


class SkipGram(Objective):
    """Learned example by example: each word with each word around it, and `negatives` others that are to be told apart."""

    kind: Literal["skip_gram"] = "skip_gram"
    networks: ClassVar[tuple[str, ...]] = ("vectors",)
    window: int = 5  # words to either side at most; each word draws how many
    negatives: int = 5
    power: float = 0.75  # of the frequencies by which they are drawn

    def noise(self, table: VectorTable) -> np.ndarray:
        """How likely at most each token is drawn: cumulative, 1 at the end."""
        counts = (
            np.ones(table.vocabulary.size) if table.vocabulary.counts is None else table.vocabulary.counts.astype(float)
        )
        counts[list(table.vocabulary.silent)] = 0
        weights = counts**self.power * (counts > 0)
        return np.cumsum(weights) / weights.sum()

    def learn(
        self, table: VectorTable, ids: np.ndarray, rate: float, noise: np.ndarray, draw: np.random.Generator
    ) -> tuple[float, int]:
        """Go through one text, updating the table after every pair. (what the guesses cost in nats, how many they were)"""
        total, guesses = 0.0, 0
        for place, reach in enumerate(draw.integers(1, self.window + 1, len(ids)).tolist()):
            around = np.concatenate([ids[max(0, place - reach) : place], ids[place + 1 : place + 1 + reach]])
            for word in around.tolist():
                others = np.searchsorted(noise, draw.random(self.negatives))
                total += self.update(table, int(ids[place]), np.concatenate([[word], others[others != word]]), rate)
            guesses += len(around)
        return total, guesses

    def update(self, table: VectorTable, centre: int, guessed: np.ndarray, rate: float) -> float:
        """One step of gradient ascent on log s(u.v) of the first guess and log s(-u.v) of the others; what they cost."""
        vector, outputs = table.vectors[centre], table.outputs[guessed]
        right = 1.0 / (1.0 + np.exp(-outputs @ vector))
        wanted = np.zeros(len(guessed), np.float32)
        wanted[0] = 1.0
        step = (rate * (wanted - right)).astype(np.float32)
        np.add.at(table.outputs, guessed, step[:, None] * vector)
        table.vectors[centre] += step @ outputs
        return -float(np.log(np.where(wanted > 0, right, 1.0 - right) + 1e-12).sum())
