"""N-grams of every length as sorted integers: an n-gram is (the index of its first n-1 tokens) * base + its last token.

So any order and any vocabulary fit in int64, finding is a binary search, and the continuations of a history are one
contiguous stretch. Level 1 is the vocabulary itself and needs no table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

UNSEEN = -1  # a history that was never counted
SHORTER = -2  # there is no history that long: the document (or what we were given of it) begins later


@dataclass
class Counted:
    """The n-grams of one length, in the order of their keys."""

    keys: np.ndarray  # int64
    counts: np.ndarray  # how often each occurs
    suffix: np.ndarray  # index, one level lower, of the n-gram without its first token


@dataclass
class Trie:
    """`keys[k]` are the n-grams of length k + 2. As history, `begins` opens a document; nothing reaches across it."""

    base: int
    begins: int
    keys: list[np.ndarray]

    @property
    def order(self) -> int:
        return len(self.keys) + 1

    def find(self, level: int, histories: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Indices of the n-grams `history token` of length `level`; where there is none, UNSEEN or SHORTER."""
        found = np.where(histories == SHORTER, SHORTER, UNSEEN)
        asked = np.flatnonzero(histories >= 0)
        if len(asked) and len(self.keys[level - 2]):
            found[asked] = self.place(level, histories[asked] * self.base + tokens[asked])
        return found

    def place(self, level: int, wanted: np.ndarray) -> np.ndarray:
        """Where these keys of a level are, or UNSEEN."""
        keys = self.keys[level - 2]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, UNSEEN)

    def continuations(self, level: int, histories: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All n-grams of length `level` under these histories: (which history, last token, index), concatenated."""
        keys = self.keys[level - 2]
        first, last = np.searchsorted(keys, np.stack([histories, histories + 1]) * self.base)
        sizes = last - first
        which = np.repeat(np.arange(len(histories)), sizes)
        index = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        return which, keys[index] - histories[which] * self.base, index

    def walk(self, tokens: np.ndarray, opens: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each length from 2 on: (length, history of every position, n-gram ending at every position).

        `opens` marks the first position of each sequence, which has no history.
        """
        ended = tokens == self.begins
        histories = np.where(opens, SHORTER, np.roll(tokens, 1))
        for level in range(2, self.order + 1):
            grams = self.find(level, histories, tokens)
            yield level, histories, grams
            histories = np.where(opens, SHORTER, np.roll(np.where(ended, SHORTER, grams), 1))

    def state(self, prompts: list[np.ndarray]) -> np.ndarray:
        """The histories of length 1, 2, ... order - 1 that each prompt ends with: [batch, order - 1]."""
        tails = [np.asarray(prompt)[-max(self.order - 1, 1) :] if len(prompt) else [self.begins] for prompt in prompts]
        lasts = np.cumsum([len(tail) for tail in tails]) - 1
        tokens = np.concatenate(tails).astype(np.int64)
        opens = np.zeros(len(tokens), bool)
        opens[[0, *(lasts[:-1] + 1)]] = True
        state = np.full((len(prompts), self.order - 1), SHORTER, np.int64)
        state[:, :1] = tokens[lasts, None]
        for level, _, grams in self.walk(tokens, opens):
            if level < self.order:
                state[:, level - 1] = np.where(tokens[lasts] == self.begins, SHORTER, grams[lasts])
        return state

    def push(self, state: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """The state one token later."""
        after = np.full_like(state, SHORTER)
        after[:, :1] = tokens[:, None]
        inside = tokens != self.begins
        for level in range(2, self.order):
            after[:, level - 1] = np.where(inside, self.find(level, state[:, level - 2], tokens), SHORTER)
        return after


def known(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """table[index], and 0 where the index is UNSEEN or SHORTER."""
    out = np.zeros(len(index), table.dtype)
    there = np.flatnonzero(index >= 0)
    out[there] = table[index[there]]
    return out


def count_ngrams(
    ids: np.ndarray, order: int, begins: int, base: int, before: int = 0, opens: bool = True
) -> tuple[np.ndarray, list[Counted]]:
    """How often each token occurs, and the n-grams of length 2 to `order`; none crosses a document's end.

    The first `before` ids were counted elsewhere: here they are only what the others follow. So a long text can be
    counted in pieces, each with the `order` - 1 ids before it, and `merge_shards` gives what the whole would have given.
    `opens`: the text begins here.
    Beside the result this takes about 40 bytes per token, while sorting.
    """
    single = np.bincount(ids[before:], minlength=base)
    levels: list[Counted] = []
    grams = ids.astype(np.int32)
    histories = np.append(np.int32(begins if opens else SHORTER), grams)[:-1]
    ended = ids == begins
    for level in range(2, order + 1):
        keys = histories * np.int64(base)
        keys += ids
        keys[histories < 0] = -1
        sequence = np.argsort(keys)
        keys = keys[sequence]
        new = np.empty(len(keys), bool)
        new[:1] = True
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        none = int(np.searchsorted(keys, 0))  # positions whose history is shorter sort first
        new[:none] = False
        first = np.flatnonzero(new)
        counts = np.diff(first, append=len(keys)).astype(np.int32)
        if before:
            elsewhere = np.flatnonzero(sequence < before)
            np.subtract.at(counts, np.searchsorted(first, elsewhere[elsewhere >= none], "right") - 1, 1)
        levels.append(Counted(keys[first], counts, grams[sequence[first]]))
        del keys
        if level < order:
            grams = np.empty(len(ids), np.int32)
            grams[sequence] = np.cumsum(new, dtype=np.int32) - 1
            del sequence, new
            histories = np.append(np.int32(SHORTER), np.where(ended, np.int32(SHORTER), grams))[:-1]
    return single, levels
