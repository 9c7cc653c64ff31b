"""A language model whose probabilities are a table: the next token depends on the last one only. Made to be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foreword.basics.seeds import chance
from foreword.tokens.tokenizer import Tokenizer


class Known:
    """log P(next | last) = self.table[last, next]."""

    def __init__(self, tokenizer: Tokenizer, seed: int = 0, context: int | None = None):
        self.vocabulary, self.context, self.reach = tokenizer.vocabulary(), context, context
        drawn = chance(seed).normal(size=(len(tokenizer), len(tokenizer)))
        self.table = drawn - np.log(np.exp(drawn).sum(-1, keepdims=True))
        self.asked: list[int] = []  # how many tokens each call of `score` and `begin` read at most

    def cost(self, tokenizer: Tokenizer, context: str, continuation: str) -> list[float]:
        """The log-probability of each token, straight from the table. For tokenizers that never merge across the border."""
        before = tokenizer.encode(context) if context else [self.vocabulary.end]
        found = []
        for token in tokenizer.encode(continuation):
            found.append(float(self.table[before[-1], token]))
            before = [*before, token]
        return found

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, Any]:
        self._read(max(map(len, prompts)))
        last = np.asarray([int(prompt[-1]) for prompt in prompts])
        return self.table[last], last

    def advance(self, tokens: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        return self.table[tokens], np.asarray(tokens)

    def select(self, state: Any, rows: np.ndarray) -> Any:
        return state[rows]

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        self._read(max(map(len, sequences)) - 1)
        return [
            self.table[sequence[max(start, 1) - 1 : -1], sequence[max(start, 1) :]]
            for sequence, start in zip(sequences, starts)
        ]

    def _read(self, tokens: int) -> None:
        assert self.context is None or tokens <= self.context, f"{tokens} tokens for a context of {self.context}"
        self.asked.append(tokens)
