"""The first rungs: uniform, add-k n-grams (Lidstone), and interpolated orders (Jelinek & Mercer 1980)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from foreword.basics.progress import say
from foreword.counts.back_off import BackOff, Tabled, logarithm
from foreword.counts.model import CountModel, CountSpec
from foreword.counts.trie import SHORTER, Trie, count_ngrams, known

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary

GRID = 10.0 ** (np.arange(-48, 9) / 8)  # what a fitted k may be: eight steps per decade from 1e-6 to 10


class NGram(CountSpec):
    """`order` 0 is uniform, 1 counts tokens, 2 pairs. `add` is what every continuation is given for nothing.

    "fitted" takes the k of GRID that makes the held-out text likeliest; without held-out text k = 1 / size: one
    count per history, shared by all tokens (Perks).
    """

    kind: Literal["ngram"] = "ngram"
    order: int
    add: float | Literal["fitted"] = "fitted"

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if self.order < 0:
            found.append(("order", f"the order must be 0 (uniform) or more (it says {self.order})."))
        if self.add != "fitted" and not 0 <= self.add < np.inf:
            found.append(("add", f"a count to add must be 0 or more (it says {self.add})."))
        return found

    def build(self, vocabulary: Vocabulary) -> CountModel:
        if self.order == 0:
            return UniformModel(vocabulary)
        return NGramModel(vocabulary, self.order, None if self.add == "fitted" else self.add)


class MixtureOfOrders(CountSpec):
    """uniform + unigram + ... + `order`-gram. `weights` start with the uniform's; "fitted" finds them by EM."""

    kind: Literal["ngram_mixture"] = "ngram_mixture"
    order: int
    weights: list[float] | Literal["fitted"] = "fitted"

    def faults(self) -> list[tuple[str, str]]:
        if self.order < 1:
            return [("order", f"the order must be 1 or more (it says {self.order}).")]
        if self.weights == "fitted":
            return []
        if len(self.weights) != self.order + 1:
            return [
                (
                    "weights",
                    f"order {self.order} takes {self.order + 1} weights, the uniform's first "
                    f"(there are {len(self.weights)}).",
                )
            ]
        if not all(weight >= 0 for weight in self.weights) or not abs(sum(self.weights) - 1) < 1e-6:
            return [("weights", f"weights must not be negative and must sum to 1 (they sum to {sum(self.weights):g}).")]
        return []

    def build(self, vocabulary: Vocabulary) -> MixtureOfOrdersModel:
        weights = None if self.weights == "fitted" else np.array(self.weights)
        return MixtureOfOrdersModel(vocabulary, self.order, weights)


class UniformModel(CountModel):
    """Every ordinary token equally likely; not `end`, so that bytes cost exactly eight bits each."""

    def __init__(self, vocabulary: Vocabulary):
        super().__init__(vocabulary)
        ordinary = self.events.copy()
        if vocabulary.end >= 0:
            ordinary[vocabulary.end] = False
        self.log_probs = np.where(ordinary, -np.log(ordinary.sum()), -np.inf)

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """There is nothing to learn."""

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(self.log_probs, (len(prompts), 1)), np.zeros((len(prompts), 0), np.int64)

    def advance(self, tokens: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(self.log_probs, (len(tokens), 1)), state

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        return [self.log_probs[self.checked(ids)[max(start, 1) :]] for ids, start in zip(sequences, starts)]

    def arrays(self) -> dict[str, np.ndarray]:
        return {"log_probs": self.log_probs}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.log_probs = arrays["log_probs"]


class NGramModel(Tabled):
    """(c(h w) + k) / (c(h) + k |V|), with h the order - 1 tokens before w, fewer at the start of a document.

    A history that was never counted predicts every token alike (what the formula gives for any k above 0).
    """

    def __init__(self, vocabulary: Vocabulary, order: int, add: float | None):
        super().__init__(vocabulary)
        self.order, self.wanted = order, add
        self.add = 0.0
        self.counts: list[np.ndarray] = []  # by length of n-gram
        self.totals: list[np.ndarray] = []  # by length of history, from none on

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        base = self.vocabulary.size + 1
        single, levels = count_ngrams(self.ids(), self.order, self.begins, base)
        self.trie = Trie(base, self.begins, [level.keys for level in levels])
        self.counts = [single, *(level.counts for level in levels)]
        self.totals = [np.array([single.sum()], float)]
        for shorter, level in zip(self.counts, levels):
            self.totals.append(np.bincount(level.keys // base, level.counts, len(shorter)))
        self.add = self._fitted(held_out) if self.wanted is None else self.wanted

    def _fitted(self, held_out: np.ndarray | None) -> float:
        if held_out is None or not len(held_out):
            return 1 / self.vocabulary.size
        tokens = np.append(self.begins, self.checked(held_out))
        counts, totals = self._met(tokens, np.arange(len(tokens)) == 0)
        likelihoods = [logarithm(smoothed(counts[1:], totals[1:], add, int(self.events.sum()))).sum() for add in GRID]
        return float(GRID[np.argmax(likelihoods)])

    def _met(self, tokens: np.ndarray, opens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c(h w) and c(h) at every position."""
        counts = self.counts[0][tokens].astype(float)
        totals = np.full(len(tokens), self.totals[0][0])
        for level, histories, grams in self.trie.walk(tokens, opens):
            longer = histories != SHORTER
            counts[longer] = known(self.counts[level - 1], grams[longer])
            totals[longer] = known(self.totals[level - 1], histories[longer])
        return counts, totals

    def each(self, tokens: np.ndarray, opens: np.ndarray) -> np.ndarray:
        counts, totals = self._met(tokens, opens)
        return np.where(self.events[tokens], smoothed(counts, totals, self.add, int(self.events.sum())), 0.0)

    def spread(self, state: np.ndarray) -> np.ndarray:
        counts = np.tile(self.counts[0][:-1].astype(float), (len(state), 1))
        totals = np.full(len(state), self.totals[0][0])
        for length in range(1, self.trie.order):
            longer = state[:, length - 1] != SHORTER
            counts[longer], totals[longer] = 0.0, 0.0
            rows = np.flatnonzero(state[:, length - 1] >= 0)
            histories = state[rows, length - 1]
            which, tokens, index = self.trie.continuations(length + 1, histories)
            counts[rows[which], tokens] = self.counts[length][index]
            totals[rows] = self.totals[length][histories]
        return np.where(self.events, smoothed(counts, totals[:, None], self.add, int(self.events.sum())), 0.0)

    def arrays(self) -> dict[str, np.ndarray]:
        named = {f"counts.{length + 1}": counts for length, counts in enumerate(self.counts)}
        named |= {f"totals.{length}": totals for length, totals in enumerate(self.totals)}
        named |= {f"keys.{length + 2}": keys for length, keys in enumerate(self.trie.keys)}
        return named | {"add": np.array([self.add])}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.order = sum(name.startswith("counts.") for name in arrays)
        self.counts = [arrays[f"counts.{length}"] for length in range(1, self.order + 1)]
        self.totals = [arrays[f"totals.{length}"] for length in range(self.order)]
        keys = [arrays[f"keys.{length}"] for length in range(2, self.order + 1)]
        self.trie = Trie(self.vocabulary.size + 1, self.begins, keys)
        self.add = float(arrays["add"][0])


def smoothed(counts: np.ndarray, totals: np.ndarray, add: float, events: int) -> np.ndarray:
    """Add-k; with nothing counted and nothing added, uniform."""
    below = totals + add * events
    return np.where(below > 0, (counts + add) / np.where(below > 0, below, 1.0), 1 / events)


class MixtureOfOrdersModel(BackOff):
    """sum_k weight_k * c(h_k w) / c(h_k); an order whose history was never seen leaves its weight to the lower ones.

    "In proportion" makes this a recursion: p_k = share_k * c(hw) / c(h) + (1 - share_k) * p_(k-1), where share_k is
    weight_k / (weight_0 + ... + weight_k) whatever the longer orders know. EM is done on the shares.
    """

    def __init__(self, vocabulary: Vocabulary, order: int, weights: np.ndarray | None):
        super().__init__(vocabulary, order)
        self.wanted = weights
        self.weights = np.full(order + 1, 1 / (order + 1)) if weights is None else weights

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        if self.wanted is None:
            if held_out is None or not len(held_out):
                say("mixture of orders: no held-out text to fit the weights on; all orders weigh the same.")
            else:
                self.weights = weights_of(self._fitted(held_out))
        self._weigh(shares_of(self.weights))

    def _weigh(self, shares: np.ndarray) -> None:
        def divide(level: int, counts: np.ndarray, histories: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
            totals = np.bincount(histories, counts, size)
            own = shares[level] * counts / np.maximum(totals, 1)[histories]
            return own, np.where(totals > 0, 1 - shares[level], 1.0)

        single, levels = count_ngrams(self.ids(), self.order, self.begins, self.vocabulary.size + 1)
        self.interpolate(1 / self.events.sum(), single, levels, divide)

    def _fitted(self, held_out: np.ndarray) -> np.ndarray:
        """Shares of the orders 0, 1, ... that make `held_out` likeliest."""
        base = self.vocabulary.size + 1
        single, levels = count_ngrams(self.ids(), self.order, self.begins, base)
        tokens = np.append(self.begins, self.checked(held_out))
        seen = np.zeros((self.order + 1, len(tokens)))  # c(hw) / c(h) by order
        usable = np.zeros(seen.shape, bool)  # was the history ever seen?
        seen[0], usable[0] = 1 / self.events.sum(), True
        seen[1], usable[1] = single[tokens] / max(single.sum(), 1), single.sum() > 0
        trie = Trie(base, self.begins, [level.keys for level in levels])
        size = base
        for level, histories, grams in trie.walk(tokens, np.arange(len(tokens)) == 0):
            counted = levels[level - 2]
            totals = known(np.bincount(counted.keys // base, counted.counts, size), histories)
            size = len(counted.keys)
            usable[level] = totals > 0
            seen[level] = known(counted.counts, grams) / np.maximum(totals, 1)
        shares = shares_of(np.full(self.order + 1, 1 / (self.order + 1)))
        likelihood = -np.inf
        # stops when a round gains less than 1e-9 nats per token, or after 1,000 rounds
        for _ in range(1000):
            before, (shares, likelihood) = likelihood, share_round(shares, seen[:, 1:], usable[:, 1:])
            if likelihood - before < 1e-9:
                break
        return shares

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | {"weights": self.weights}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.weights = arrays["weights"]


def share_round(shares: np.ndarray, seen: np.ndarray, usable: np.ndarray) -> tuple[np.ndarray, float]:
    """One round of EM: better shares, and the mean log-likelihood of the ones given.

    A token is drawn by going down from the highest order: stop at order k with probability share_k, else go lower.
    """
    kept = np.where(usable, shares[:, None], 0.0)
    mixed = np.empty_like(seen)  # p_k
    mixed[0] = seen[0]
    for order in range(1, len(seen)):
        mixed[order] = kept[order] * seen[order] + (1 - kept[order]) * mixed[order - 1]
    better = np.ones(len(seen))
    reached = np.ones(seen.shape[1])  # given the token, how likely did we come down this far?
    for order in range(len(seen) - 1, 0, -1):
        stopped = reached * kept[order] * seen[order] / mixed[order]
        tried = reached[usable[order]].sum()
        better[order] = stopped.sum() / tried if tried > 0 else shares[order]
        reached = reached - stopped
    return better, float(np.log(mixed[-1]).mean())


def shares_of(weights: np.ndarray) -> np.ndarray:
    below = np.cumsum(weights)
    shares = np.divide(weights, below, out=np.zeros(len(weights)), where=below > 0)
    shares[0] = 1.0
    return shares


def weights_of(shares: np.ndarray) -> np.ndarray:
    above = np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1.0)
    return shares * above
