"""Rows of whole sentences in reading order: RoBERTa's FULL-SENTENCES and DOC-SENTENCES (Liu et al. 2019, section 4.2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.batches.cuts import ShuffledCut
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import with_sentences
from foreword.batches.shuffled import FilledCutter, Shuffled
from foreword.tokens.store import TokenStore


class FullSentences(ShuffledCut):
    """As many whole sentences as fit a row, on into the next document; the [end] between two documents separates them."""

    kind: Literal["full_sentences"] = "full_sentences"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> SentenceCutter:
        self.needs(store, 2, "one sentence")
        with_sentences(store)
        spans = np.asarray(list(self.spans(store, self.size().ids)), np.int64).reshape(-1, 2)
        return SentenceCutter(store, spans, self.shuffled(spans[:, 1] - spans[:, 0], batch_size, seed), self._carried)

    def spans(self, store: TokenStore, room: int) -> Iterator[tuple[int, int]]:
        edges = [edge for begin, last, inside in documents(store) for edge in (begin, *inside, last)]
        yield from whole_sentences(edges, room, 0, store.tokens)

    def shuffled(self, lengths: np.ndarray, batch_size: int, seed: int) -> Shuffled:
        return Shuffled(len(lengths), batch_size, seed, self.copies)


class DocSentences(FullSentences):
    """The same, but a row ends where its document ends; a batch has as many more rows as it takes to hold as many tokens."""

    kind: Literal["doc_sentences"] = "doc_sentences"  # type: ignore[assignment]
    fills: ClassVar[bool] = True

    def spans(self, store: TokenStore, room: int) -> Iterator[tuple[int, int]]:
        for begin, last, inside in documents(store):
            yield from whole_sentences(inside, room, begin, last)

    def shuffled(self, lengths: np.ndarray, batch_size: int, seed: int) -> Shuffled:
        return FilledCutter(lengths, self.size().ids, batch_size, seed, self.copies)


class SentenceCutter:
    def __init__(self, store: TokenStore, spans: np.ndarray, shuffled: Shuffled, marks: tuple[str, ...] = ()):
        self.store, self.bounds, self.shuffled, self.marks = store, spans, shuffled, marks
        self.count, self.epoch = shuffled.count, shuffled.epoch
        self.end = store.tokenizer.special("[end]") if store.tokenizer.has("[end]") else -1

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(number, index) for number, _, index in self.shuffled.places(step, first, stop)]

    def _row(self, number: int, index: int) -> Row:
        """A border between documents at either end of a row separates nothing there."""
        start, stop = self.bounds[index].tolist()
        ids = self.store.read(start, stop)
        inner = np.flatnonzero(ids != self.end)
        begin, end = (int(inner[0]), int(inner[-1]) + 1) if len(inner) else (0, 0)
        marks = {name: self.store.read_mark(name, start + begin, start + end) for name in self.marks}
        return Row(ids[begin:end], number, self.shuffled.seed, marks=marks)


def documents(store: TokenStore) -> Iterator[tuple[int, int, list[int]]]:
    """(first token, the one after its last, where its sentences end) of each; its closing token is not text."""
    begin = 0
    for end in np.asarray(store.ends, np.int64).tolist():
        last = end - 1 if store.tokenizer.has("[end]") else end
        if last > begin:
            yield begin, last, (begin + np.flatnonzero(store.read_mark("sentence_end", begin, last)) + 1).tolist()
        begin = end


def whole_sentences(edges: Sequence[int], room: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """From `begin` to `end` in stretches of at most `room` tokens that end at an edge; a longer sentence is cut where it is."""
    at = begin
    while at < end:
        if end - at <= room:
            yield at, end
            return
        last = edges[bisect_right(edges, at + room) - 1] if edges and edges[0] <= at + room else at
        stop = last if last > at else at + room
        yield at, stop
        at = stop
