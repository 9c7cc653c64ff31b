"""Copies: exact ones by hash, near ones by MinHash signatures and banding (Broder 1997; Leskovec et al., chapter 3).

The Jaccard similarity of two documents' sets of shingles (five words in a row) is estimated by the share of 128 minima
on which they agree; only documents that agree on a whole band of minima are compared at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.text.document import Document, in_batches

HASHES = 128
SHINGLE = 5  # words; characters where a text has few words for its length (Chinese, short lines)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_PADDING = np.zeros(SHINGLE - 1, np.uint64)


def without_near_duplicates(
    documents: Iterable[Document], threshold: float = 0.7, report: dict | None = None
) -> Iterator[Document]:
    """The documents, in order, without those that repeat an earlier one; `report` counts what was left out and why."""
    check_threshold(threshold)
    report = {} if report is None else report
    report.update(read=0, exact=0, near=0, kept=0)
    seen: set[bytes] = set()
    index = Index(threshold)

    def new() -> Iterator[Document]:
        for document in documents:
            report["read"] += 1
            if (key := content_key(document.text)) in seen:
                report["exact"] += 1
            else:
                seen.add(key)
                yield document

    for batch in in_batches(new()):
        for document, signature in zip(batch, signatures([document.text for document in batch])):
            if index.find(signature) >= 0:
                report["near"] += 1
            else:
                report["kept"] += 1
                yield document


def check_threshold(threshold: float) -> None:
    if not 0 < threshold <= 1:
        raise Fault(f"the threshold {threshold} is not a similarity between 0 and 1.")


def content_key(text: str) -> bytes:
    """Equal for texts that are, white space at their ends aside."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Index:
    """The signatures kept so far, found again by their bands."""

    def __init__(self, threshold: float):
        self.threshold, self.rows = threshold, rows_per_band(threshold)
        self.bands: list[dict[bytes, list[int]]] = [{} for _ in range(HASHES // self.rows)]
        self.kept = np.empty((1024, HASHES), np.uint32)
        self.size = 0

    def find(self, signature: np.ndarray) -> int:
        """The place of the one most like it; if none is as alike as the threshold, it is added, and -1."""
        width = self.rows * signature.itemsize
        raw = signature.tobytes()
        keys = [raw[start : start + width] for start in range(0, len(self.bands) * width, width)]
        near = sorted({place for band, key in zip(self.bands, keys) for place in band.get(key, ())})
        if near:
            same = (self.kept[near] == signature).mean(axis=1)
            if same.max() >= self.threshold:
                return near[int(same.argmax())]
        if self.size == len(self.kept):
            self.kept = np.concatenate([self.kept, np.empty_like(self.kept)])
        self.kept[self.size] = signature
        for band, key in zip(self.bands, keys):
            band.setdefault(key, []).append(self.size)
        self.size += 1
        return -1


class SignatureFiles:
    """Signatures of many documents in files, of which a few columns, or a few rows, are in memory at a time."""

    def __init__(self, paths: Sequence[Path]):
        self.paths = paths

    def columns(self, first: int, number: int) -> np.ndarray:
        """[documents, number]"""
        return np.concatenate([np.load(path, mmap_mode="r")[:, first : first + number] for path in self.paths])

    def rows(self, documents: np.ndarray) -> np.ndarray:
        """[documents given, 128]; they are in ascending order."""
        found, before = [np.zeros((0, HASHES), np.uint32)], 0
        for path in self.paths:
            there = np.load(path, mmap_mode="r")
            here = documents[(documents >= before) & (documents < before + len(there))] - before
            found.append(np.asarray(there[here]))
            before += len(there)
        return np.concatenate(found)


def repeated(keys: np.ndarray, minima: SignatureFiles | None, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Of all documents at once: (the earlier one that each repeats exactly, or nearly), -1 where there is none.

    Finds what `without_near_duplicates` finds one by one. `keys` [documents] are of their contents, `minima` their
    signatures (None: only exact copies are looked for). Most documents share no band with any other: only the rest go
    through the index.
    """
    _, firsts, back = np.unique(keys, return_index=True, return_inverse=True)
    exact = firsts[back]
    exact[exact == np.arange(len(keys))] = -1
    near, index, places = np.full(len(keys), -1), Index(threshold), list[int]()
    if minima is None:
        return exact, near
    new = np.flatnonzero(exact < 0)
    alike = new[_share_a_band(minima, new, index.rows)]
    for number, signature in zip(alike, minima.rows(alike)):
        if (found := index.find(signature)) >= 0:
            near[number] = places[found]
        else:
            places.append(int(number))
    return exact, near


def _share_a_band(minima: SignatureFiles, some: np.ndarray, rows: int) -> np.ndarray:
    """Which of these documents agree with another of them on a whole band (or, by chance, on its hash)."""
    shared = np.zeros(len(some), bool)
    for start in range(0, HASHES // rows * rows, rows):
        mixed = np.zeros(len(some), np.uint64)
        for column in minima.columns(start, rows)[some].T:
            mixed += column
            mixed *= _ODD
            mixed ^= mixed >> np.uint64(29)
        order = np.argsort(mixed, kind="stable")
        same = np.flatnonzero(mixed[order][1:] == mixed[order][:-1])
        shared[order[same]] = shared[order[same + 1]] = True
    return shared


def rows_per_band(threshold: float) -> int:
    """The widest bands that still bring together 99 in 100 pairs as similar as the threshold."""
    wide = [rows for rows in (16, 8, 4, 2) if 1 - (1 - threshold**rows) ** (HASHES // rows) >= 0.99]
    return wide[0] if wide else 1


def signatures(texts: list[str]) -> np.ndarray:
    """The minima of 128 hash functions over the shingles of each text: [texts, 128]."""
    shingles, starts = _shingles(texts)
    generator = chance(HASHES, SHINGLE)
    factors = generator.integers(0, 2**32, HASHES, np.uint32) | np.uint32(1)
    offsets = generator.integers(0, 2**32, HASHES, np.uint32)
    out = np.empty((len(texts), HASHES), np.uint32)
    row = np.empty_like(shingles)
    for number in range(HASHES):
        np.multiply(shingles, factors[number], out=row)
        np.bitwise_xor(row, offsets[number], out=row)
        out[:, number] = np.minimum.reduceat(row, starts)
    return out


def _shingles(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """A 32-bit hash for each run of five units of each text, one text after another, and where each text begins."""
    written = [text.lower().encode("utf-8", "surrogatepass") for text in texts]
    hashes, places = word_hashes(b" ".join(written))
    edges = np.searchsorted(places, np.cumsum([0] + [len(one) + 1 for one in written]))
    units, lengths = [], []
    for text, first, last in zip(texts, edges, edges[1:]):
        one = hashes[first:last]
        if len(one) < 2 * SHINGLE or len(text) > 20 * len(one):
            one = np.frombuffer("".join(text.lower().split()).encode("utf-32-le", "surrogatepass"), np.uint32)
        if not len(one):
            one = np.zeros(1, np.uint64)
        units += [one.astype(np.uint64, copy=False), _PADDING]  # runs that reach past the end meet zeros
        lengths.append(len(one))
    codes = np.concatenate(units)
    count = len(codes) - SHINGLE + 1
    mixed = np.zeros(count, np.uint64)
    for place in range(SHINGLE):
        mixed += codes[place : place + count]
        mixed *= _ODD
        mixed ^= mixed >> np.uint64(29)
    # whole runs only; a text shorter than one gives the run it has
    sizes = np.asarray(lengths)
    ends = np.cumsum(sizes + len(_PADDING))
    firsts = ends - sizes - len(_PADDING)
    real = np.ones(len(codes), bool)
    for place in range(1, 2 * SHINGLE - 1):
        real[np.compress(ends - place > firsts, ends - place)] = False
    whole_runs = np.maximum(sizes - SHINGLE + 1, 1)
    return (mixed[real[:count]] >> np.uint64(32)).astype(np.uint32), np.cumsum(whole_runs) - whole_runs


def word_hashes(text: bytes) -> tuple[np.ndarray, np.ndarray]:
    """A hash of each word, and the byte at which it begins: differences of one running sum over all bytes."""
    data = np.frombuffer(text, np.uint8)
    inside = np.zeros(len(data) + 2, np.int8)
    inside[1:-1] = data > 32
    edges = np.diff(inside)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    powers = np.full(len(data) + 1, _ODD)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    sums = np.zeros(len(data) + 1, np.uint64)
    np.cumsum(data * powers[:-1], out=sums[1:])
    # a word's bytes weigh more the later it stands; the inverse power brings all to the same place
    inverse = np.full(len(data) + 1, np.uint64(pow(int(_ODD), -1, 2**64)))
    inverse[0] = 1
    np.multiply.accumulate(inverse, out=inverse)
    return (sums[ends] - sums[begins]) * inverse[begins], begins
