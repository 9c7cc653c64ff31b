"""A trie whose n-grams are found by hashing: one or two looks into memory instead of one for every halving of a long table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foreword.counts.trie import UNSEEN, Trie

FREE = -1  # a slot that holds nothing
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Fibonacci hashing, Knuth 6.4)


class HashIndex:
    """Where each key of a sorted table is: open addressing, the next slot after a taken one; half of all slots are free."""

    def __init__(self, keys: np.ndarray):
        bits = max(int(2 * len(keys) - 1).bit_length(), 1) if len(keys) else 1
        self.keys, self.shift, self.mask = keys, np.uint64(64 - bits), (1 << bits) - 1
        self.slots = np.full(1 << bits, FREE, np.int32)
        left, at = np.arange(len(keys), dtype=np.int32), self._home(keys)
        while len(left):
            free = np.flatnonzero(self.slots[at] == FREE)
            self.slots[at[free]] = left[free]  # of several that want one slot, the last has it
            lost = self.slots[at] != left
            left, at = left[lost], (at[lost] + 1) & self.mask

    def _home(self, keys: np.ndarray) -> np.ndarray:
        return (np.asarray(keys).astype(np.uint64) * FACTOR >> self.shift).astype(np.int64)

    def find(self, wanted: np.ndarray) -> np.ndarray:
        """The place of each key, or UNSEEN."""
        found, asked, at = np.full(len(wanted), UNSEEN, np.int64), np.arange(len(wanted)), self._home(wanted)
        while len(asked):
            here = self.slots[at]
            taken = np.flatnonzero(here != FREE)  # at a free slot the search is over
            asked, at, here = asked[taken], at[taken], here[taken]
            right = self.keys[here] == wanted[asked]
            found[asked[right]] = here[right]
            asked, at = asked[~right], (at[~right] + 1) & self.mask
        return found


@dataclass
class HashedTrie(Trie):
    indices: list[HashIndex] = field(init=False)

    def __post_init__(self) -> None:
        self.indices = [HashIndex(keys) for keys in self.keys]

    def place(self, level: int, wanted: np.ndarray) -> np.ndarray:
        return self.indices[level - 2].find(wanted)
