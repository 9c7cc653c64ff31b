"""A table of probabilities for the n-grams that were seen, and a factor per history for the rest (Katz's form).

p(w | h) is the table's where `h w` is in it, else back_off(h) * p(w | h without its oldest token). Every
smoothing and every ARPA file ends in this form, so they are read by the same lines.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from foreword.counts.hashed import HashedTrie
from foreword.counts.model import CountModel
from foreword.counts.quantized import Coded
from foreword.counts.trie import Trie

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary


class TrieModel(CountModel):
    """A count model whose histories live in a trie; it has only to say what a history predicts."""

    trie: Trie

    @abstractmethod
    def spread(self, state: np.ndarray) -> np.ndarray:
        """Probabilities of every next token: [batch, size]."""

    @abstractmethod
    def each(self, tokens: np.ndarray, opens: np.ndarray) -> np.ndarray:
        """Probability of every token given what is before it, since the last position in `opens`."""

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        state = self.trie.state([self.checked(prompt) for prompt in prompts])
        return logarithm(self.spread(state)), state

    def advance(self, tokens: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        state = self.trie.push(state, self.checked(tokens))
        return logarithm(self.spread(state)), state

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        if not sequences:
            return []
        starts = [max(start, 1) for start in starts]
        # older tokens than the longest history cannot matter
        cuts = [max(0, start - max(self.trie.order - 1, 1)) for start in starts]
        tokens = self.checked(np.concatenate([np.asarray(ids)[cut:] for ids, cut in zip(sequences, cuts)]))
        lengths = [max(0, len(ids) - cut) for ids, cut in zip(sequences, cuts)]
        ends = np.cumsum(lengths)
        opens = np.zeros(len(tokens) + 1, bool)
        opens[ends - lengths] = True
        log_probs = logarithm(self.each(tokens, opens[:-1]))
        return [
            log_probs[end - length + start - cut : end] for end, length, start, cut in zip(ends, lengths, starts, cuts)
        ]


class BackOff(TrieModel):
    """`probability[k]` and `back_off[k]` belong to the n-grams of length k + 1."""

    def __init__(self, vocabulary: Vocabulary, order: int, hashed: bool = False):
        super().__init__(vocabulary)
        self.order, self.hashed = order, hashed
        self.probability: list[np.ndarray | Coded] = []
        self.back_off: list[np.ndarray] = []

    def trie_of(self, keys: list[np.ndarray]) -> Trie:
        return (HashedTrie if self.hashed else Trie)(self.vocabulary.size + 1, self.begins, keys)

    def spread(self, state: np.ndarray) -> np.ndarray:
        spread = np.tile(self.probability[0][: self.vocabulary.size], (len(state), 1))
        for length in range(1, self.trie.order):
            rows = np.flatnonzero(state[:, length - 1] >= 0)
            if not len(rows):
                continue
            histories = state[rows, length - 1]
            left = np.ones(len(state))
            left[rows] = self.back_off[length - 1][histories]
            spread *= left[:, None]
            which, tokens, index = self.trie.continuations(length + 1, histories)
            spread[rows[which], tokens] = self.probability[length][index]
        return spread

    def each(self, tokens: np.ndarray, opens: np.ndarray) -> np.ndarray:
        each = self.probability[0][tokens]
        for level, histories, grams in self.trie.walk(tokens, opens):
            known = np.flatnonzero(histories >= 0)
            each[known] *= self.back_off[level - 2][histories[known]]
            seen = known[grams[known] >= 0]
            each[seen] = self.probability[level - 1][grams[seen]]
        return each

    def arrays(self) -> dict[str, np.ndarray]:
        named: dict[str, np.ndarray] = {}
        for length, table in enumerate(self.probability, 1):
            if isinstance(table, Coded):
                named |= {f"codes.{length}": table.codes, f"values.{length}": table.values}
            else:
                named[f"probability.{length}"] = table
        named |= {f"back_off.{length + 1}": table for length, table in enumerate(self.back_off)}
        return named | {f"keys.{length + 2}": table for length, table in enumerate(self.trie.keys)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        order = sum(name.startswith(("probability.", "codes.")) for name in arrays)
        self.order = order
        self.probability = [
            arrays[f"probability.{length}"]
            if f"probability.{length}" in arrays
            else Coded(arrays[f"codes.{length}"], arrays[f"values.{length}"])
            for length in range(1, order + 1)
        ]
        self.back_off = [arrays[f"back_off.{length}"] for length in range(1, order)]
        keys = [arrays[f"keys.{length}"] for length in range(2, order + 1)]
        self.trie = self.trie_of(keys)


def logarithm(probabilities: np.ndarray) -> np.ndarray:
    """ln p; what is impossible is -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities, out=probabilities)
