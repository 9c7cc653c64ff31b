"""All chance comes from numbers that can be written down: (seed, step), (seed, row), (seed, epoch)."""

from __future__ import annotations

import hashlib

import numpy as np

from foreword.basics.messages import Fault

_MASK = np.uint64(0xFFFFFFFFFFFFFFFF)


def chance(*numbers: int) -> np.random.Generator:
    """A generator that depends on these numbers and nothing else."""
    try:
        key = hashlib.blake2b(np.asarray(numbers, np.int64).tobytes(), digest_size=16).digest()
    except OverflowError as error:
        raise Fault(f"{max(numbers, key=abs)} is no seed: it has to fit in 64 bits.") from error
    return np.random.Generator(np.random.Philox(key=np.frombuffer(key, np.uint64)))


def number_of(*parts: object) -> int:
    """A 63-bit integer that depends on these parts and nothing else."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def _scramble(x: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: every output bit depends on every input bit."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Permutation:
    """A permutation of range(size) that is computed, not stored: any position in O(1), whatever the size.

    A four-round Feistel network over the next power of four, walking on while the result falls outside the range.
    """

    def __init__(self, size: int, *seed: int):
        self.size = size
        self.half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
        self.keys = [np.uint64(number_of("permutation", *seed, round)) for round in range(4)]

    def __getitem__(self, index: int) -> int:
        return int(self.at(np.asarray([index]))[0])

    def at(self, indices: np.ndarray) -> np.ndarray:
        """The images of many indices at once."""
        out = self._rounds(np.asarray(indices, np.uint64))
        while (outside := out >= np.uint64(self.size)).any():
            out[outside] = self._rounds(out[outside])
        return out.astype(np.int64)

    def _rounds(self, x: np.ndarray) -> np.ndarray:
        half, low = np.uint64(self.half), np.uint64((1 << self.half) - 1)
        left, right = x >> half, x & low
        for key in self.keys:
            left, right = right, left ^ (_scramble(right + key & _MASK) & low)
        return (left << half) | right
