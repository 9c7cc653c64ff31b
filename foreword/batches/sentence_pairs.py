"""Pairs of texts for BERT: half the time the second follows the first, half the time it is from another document.

Google's script walks through documents and puts unused sentences back, so a row depends on all rows before it. Here a
document is cut once into stretches of whole sentences; two stretches far apart in the epoch's order either keep their
second halves or exchange them. Every row is then a pure function of its number, and an epoch uses all text once.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.batches.cuts import Cut, Shuffled
from foreword.batches.row import Row
from foreword.tokens.store import TokenStore


class SentencePairs(Cut):
    kind: Literal["sentence_pairs"] = "sentence_pairs"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 2
    short: float = 0.1  # share of stretches that are shorter than they could be, so that short inputs are known

    def over(self, store: TokenStore, batch_size: int, seed: int) -> PairCutter:
        self.needs(store, 16, "a pair of sentences")
        if "sentence_end" not in store.marks:
            raise Fault(
                f"{store.folder} does not know where sentences end.",
                "Make the store again with: foreword tokens ... --marks sentence_end,word_start",
            )
        room = self.size().ids - (store.tokenizer.separators - 1)
        return PairCutter(store, room, batch_size, seed, self.short)


class PairCutter(Shuffled):
    def __init__(self, store: TokenStore, room: int, batch_size: int, seed: int, short: float):
        self.store, self.room = store, room
        self.starts, self.stops, self.documents = stretches(store, self.room, short, seed)
        super().__init__(len(self.starts), batch_size, seed)
        if self.count < 2 or self.documents[0] == self.documents[-1]:
            raise Fault(
                f"{store.folder} ({store.split}) has fewer than two documents with sentences.",
                "Pairs of unrelated sentences need several: cut the text finer with --documents paragraph.",
            )
        self.half = self.count // 2
        self.exchange = 0.5 / (1.0 - self._same_document())

    def _same_document(self) -> float:
        """How often two stretches drawn at random share a document and so cannot exchange."""
        sizes = np.unique(self.documents, return_counts=True)[1].astype(float)
        return min(0.49, float((sizes * (sizes - 1)).sum() / (self.count * (self.count - 1))))

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def _row(self, number: int, epoch: int, own: int) -> Row:
        index = number % self.count
        lower = index % self.half if index < 2 * self.half else -1
        first, second = self._cut(epoch, own)
        follows = True
        if lower >= 0:
            other = self.order(epoch)[lower + self.half if index < self.half else lower]
            swapped = chance(self.seed, epoch, 1, lower).random() < self.exchange
            if swapped and self.documents[own] != self.documents[other]:
                second, follows = self._cut(epoch, other)[1], False
        first, second = truncate(first, second, self.room, chance(self.seed, epoch, 2, own))
        return Row(first, number, self.seed, second, follows)

    def _cut(self, epoch: int, stretch: int) -> tuple[np.ndarray, np.ndarray]:
        """A stretch as two texts, split at a sentence end (inside it, if it is a single sentence)."""
        start, stop = int(self.starts[stretch]), int(self.stops[stretch])
        ids = self.store.read(start, stop)
        ends = np.flatnonzero(self.store.read_mark("sentence_end", start, stop)[:-1]) + 1
        draw = chance(self.seed, epoch, 3, stretch)
        at = int(draw.choice(ends)) if len(ends) else int(draw.integers(1, max(2, len(ids))))
        return ids[:at], ids[at:]


def stretches(store: TokenStore, room: int, short: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(start, stop, document) of stretches of whole sentences, as long as `room` allows; the same for every epoch."""
    draw = chance(seed, 4)
    starts, stops, owners = [], [], []
    begin, marked = 0, 0
    for document, end in enumerate(np.asarray(store.ends, np.int64).tolist()):
        last = end - 1 if store.tokenizer.has("[end]") else end  # the document's closing token is not text
        ends = begin + np.flatnonzero(store.read_mark("sentence_end", begin, last)) + 1
        at = begin
        while at < last:
            target = room if draw.random() >= short else int(draw.integers(2, room + 1))
            marked = int(np.searchsorted(ends, at + target, side="right"))
            stop = int(ends[marked - 1]) if marked and ends[marked - 1] > at else min(at + target, last)
            if last - stop < 2:
                stop = last
            if stop - at >= 2:
                starts.append(at)
                stops.append(stop)
                owners.append(document)
            at = stop
        begin = end
    return np.asarray(starts, np.int64), np.asarray(stops, np.int64), np.asarray(owners, np.int64)


def truncate(
    first: np.ndarray, second: np.ndarray, room: int, draw: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Both texts cut to fit together: always the longer one gives, from a random end (BERT's truncate_seq_pair)."""
    while len(first) + len(second) > room:
        front = draw.random() < 0.5
        if len(first) > len(second):
            first = first[1:] if front else first[:-1]
        else:
            second = second[1:] if front else second[:-1]
    return first, second
