"""How much each order should weigh, found on text that was not counted, by expectation maximisation (Jelinek & Mercer 1980)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foreword.counts.shards import CountedLevel
from foreword.counts.trie import Trie, known


@dataclass(frozen=True)
class HeldOutCounts:
    """What was counted of each held-out token, by order (0 is uniform) and position."""

    ratio: np.ndarray  # c(h w) / c(h)
    usable: np.ndarray  # was the history ever seen?
    bucket: np.ndarray  # of the history


@dataclass(frozen=True)
class HeldOut:
    """A text that was not counted, and the counts to look it up in."""

    tokens: np.ndarray | None  # begins with the begin symbol
    single: np.ndarray
    levels: list[CountedLevel]
    begins: int
    events: int

    def seen(self, bucket: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> HeldOutCounts:
        tokens = self.tokens
        assert tokens is not None
        base, order = len(self.single), len(self.levels) + 1
        ratio = np.zeros((order + 1, len(tokens)))
        usable, place = np.zeros(ratio.shape, bool), np.zeros(ratio.shape, np.int64)
        ratio[0], usable[0] = 1 / self.events, True
        total, types = np.array([self.single.sum()]), np.array([np.count_nonzero(self.single)])
        ratio[1], usable[1] = self.single[tokens] / max(total[0], 1), total[0] > 0
        place[1] = bucket(total, types)
        trie = Trie(base, self.begins, [level.keys.array() for level in self.levels])
        for level, histories, grams in trie.walk(tokens, np.arange(len(tokens)) == 0):
            counts = self.levels[level - 2].counts.array()
            asked, where = np.unique(histories[histories >= 0], return_inverse=True)
            which, _, index = trie.continuations(level, asked)
            totals = np.bincount(which, counts[index], len(asked))
            types = np.bincount(which, minlength=len(asked))
            there = histories >= 0
            usable[level, there] = totals[where] > 0
            place[level, there] = bucket(totals, types)[where]
            ratio[level, there] = known(counts, grams[there]) / np.maximum(totals[where], 1)
        return HeldOutCounts(ratio[:, 1:], usable[:, 1:], place[:, 1:])


def fitted_shares(seen: HeldOutCounts, buckets: int) -> np.ndarray:
    """Shares of the orders 0, 1, ... and buckets that make the held-out text likeliest."""
    order = len(seen.ratio) - 1
    shares = np.tile(shares_of(np.full(order + 1, 1 / (order + 1)))[:, None], buckets)
    likelihood = -np.inf
    # stops when a round gains less than 1e-9 nats per token, or after 1,000 rounds
    for _ in range(1000):
        before, (shares, likelihood) = likelihood, share_round(shares, seen)
        if likelihood - before < 1e-9:
            break
    return shares


def share_round(shares: np.ndarray, seen: HeldOutCounts) -> tuple[np.ndarray, float]:
    """One round of EM: better shares, and the mean log-likelihood of the ones given.

    A token is drawn by going down from the highest order: stop at order k with probability share_k, else go lower. A
    bucket that no held-out history is in takes the share of its order as a whole. However often a bucket was right, one
    failure in a try more than there were is thought possible, or what it never saw would be impossible.
    """
    orders, buckets = shares.shape
    kept = np.where(seen.usable, np.take_along_axis(shares, seen.bucket, 1), 0.0)
    mixed = np.empty_like(seen.ratio)  # p_k
    mixed[0] = seen.ratio[0]
    for order in range(1, orders):
        mixed[order] = kept[order] * seen.ratio[order] + (1 - kept[order]) * mixed[order - 1]
    better = np.ones_like(shares)
    reached = np.ones(seen.ratio.shape[1])  # given the token, how likely did we come down this far?
    for order in range(orders - 1, 0, -1):
        stopped = reached * kept[order] * seen.ratio[order] / mixed[order]
        usable = seen.usable[order]
        tried = np.bincount(seen.bucket[order][usable], reached[usable], buckets)
        taken = np.bincount(seen.bucket[order][usable], stopped[usable], buckets)
        overall = taken.sum() / tried.sum() if tried.sum() > 0 else float(shares[order, 0])
        asked = tried > 1e-9  # of less, rounding would decide
        tries = np.bincount(seen.bucket[order][usable], minlength=buckets)
        better[order] = np.where(asked, taken / np.where(asked, tried, 1.0), overall)
        better[order] = np.clip(better[order], 0.0, (tries + 1) / (tries + 2))
        reached = np.maximum(reached - stopped, 0.0)
    return better, float(np.log(mixed[-1]).mean())


def shares_of(weights: np.ndarray) -> np.ndarray:
    """ "In proportion" makes a mixture of orders a recursion: p_k = share_k * c(hw) / c(h) + (1 - share_k) * p_(k-1), where
    share_k is weight_k / (weight_0 + ... + weight_k), whatever the longer orders know."""
    below = np.cumsum(weights)
    shares = np.divide(weights, below, out=np.zeros(len(weights)), where=below > 0)
    shares[0] = 1.0
    return shares


def weights_of(shares: np.ndarray) -> np.ndarray:
    above = np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1.0)
    return shares * above
