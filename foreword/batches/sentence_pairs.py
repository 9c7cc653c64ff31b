"""Pairs of texts for BERT: half the time the second follows the first, half the time it is from another document.

Google's script walks through documents and puts unused sentences back, so a row depends on all rows before it. Here a
document is cut once into stretches of whole sentences; two stretches far apart in the epoch's order either keep their
second halves or exchange them. Every row is then a pure function of its number, and an epoch uses all text once.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Share
from foreword.basics.seeds import chance
from foreword.batches.cuts import ShuffledCut
from foreword.batches.row import Row
from foreword.batches.shuffled import FilledCutter, Shuffled
from foreword.tokens.store import TokenStore

Text = TypeVar("Text", range, np.ndarray)


class SentencePairs(ShuffledCut):
    kind: Literal["sentence_pairs"] = "sentence_pairs"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 2
    of: Literal["segments", "sentences"] = (
        "segments"  # each text has many sentences, or one (Liu et al. 2019, section 4.2)
    )
    short: Share = 0.1  # share of segments that are shorter than they could be, so that short inputs are known

    @property
    def fills(self) -> bool:  # type: ignore[override]
        return self.of == "sentences"  # two sentences are far shorter than a row: a batch has more of them

    def over(self, store: TokenStore, batch_size: int, seed: int) -> SentencePairCutter:
        self.needs(store, 16, "a pair of sentences")
        with_sentences(store)
        room = self.size().ids - (store.tokenizer.separators - 1)
        cut = pairs(store, room) if self.of == "sentences" else stretches(store, room, self.short, seed)
        if len(cut[0]) < 2 or cut[2][0] == cut[2][-1]:
            raise Fault(
                f"{store.folder} ({store.split}) has fewer than two documents with sentences.",
                "Pairs of unrelated sentences need several: cut the text finer with --documents paragraph.",
            )
        lengths = cut[1] - cut[0]
        shuffled = (  # a pair that exchanges is as long as others, not as it was: in order of length batches would differ
            FilledCutter(lengths, room, batch_size, seed, self.copies, alike=False)
            if self.of == "sentences"
            else Shuffled(len(lengths), batch_size, seed, self.copies)
        )
        return SentencePairCutter(store, room, shuffled, *cut, self._carried)


def with_sentences(store: TokenStore) -> None:
    if "sentence_end" not in store.marks:
        raise Fault(
            f"{store.folder} does not know where sentences end.",
            "Make the store again with: foreword tokens ... --marks sentence_end,word_start",
        )


class SentencePairCutter:
    def __init__(
        self,
        store: TokenStore,
        room: int,
        shuffled: Shuffled,
        starts: np.ndarray,
        stops: np.ndarray,
        documents: np.ndarray,
        marks: tuple[str, ...] = (),
    ):
        self.store, self.room, self.shuffled, self.seed = store, room, shuffled, shuffled.seed
        self.starts, self.stops, self.documents, self.marks = starts, stops, documents, marks
        self.count, self.epoch = shuffled.count, shuffled.epoch
        self.half = self.count // 2
        self.exchange = 0.5 / (1.0 - self._same_document())

    def _same_document(self) -> float:
        """How often two stretches drawn at random share a document and so cannot exchange."""
        sizes = np.unique(self.documents, return_counts=True)[1].astype(float)
        return min(0.49, float((sizes * (sizes - 1)).sum() / (self.count * (self.count - 1))))

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.shuffled.places(step, first, stop)]

    def _row(self, number: int, epoch: int, own: int) -> Row:
        index = number % self.count
        lower = index % self.half if index < 2 * self.half else -1
        first, second = self._cut(epoch, own)
        follows = True
        if lower >= 0:
            other = self.shuffled.order(epoch)[lower + self.half if index < self.half else lower]
            swapped = chance(self.seed, epoch, 1, lower).random() < self.exchange
            if swapped and self.documents[own] != self.documents[other]:
                second, follows = self._cut(epoch, other)[1], False
        first, second = truncate(first, second, self.room, chance(self.seed, epoch, 2, own))
        (ids, marks), (others, second_marks) = self._read(first), self._read(second)
        return Row(ids, number, self.seed, others, follows, marks=marks, second_marks=second_marks)

    def _read(self, places: range) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        marks = {name: self.store.read_mark(name, places.start, places.stop) for name in self.marks}
        return self.store.read(places.start, places.stop), marks

    def _cut(self, epoch: int, stretch: int) -> tuple[range, range]:
        """A stretch as two texts, split at a sentence end (inside it, if it is a single sentence): their places in the store."""
        start, stop = int(self.starts[stretch]), int(self.stops[stretch])
        ends = np.flatnonzero(self.store.read_mark("sentence_end", start, stop)[:-1]) + 1
        draw = chance(self.seed, epoch, 3, stretch)
        at = int(draw.choice(ends)) if len(ends) else int(draw.integers(1, max(2, stop - start)))
        return range(start, start + at), range(start + at, stop)


def pairs(store: TokenStore, room: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(start, stop, document) of every two sentences that stand together. The last of an odd number is also in the pair
    before; a document of one sentence has none. Of a long sentence what stands next to the other is kept."""
    found: list[tuple[int, int, int]] = []
    begin = 0
    for document, end in enumerate(np.asarray(store.ends, np.int64).tolist()):
        last = end - 1 if store.tokenizer.has("[end]") else end
        inside = begin + np.flatnonzero(store.read_mark("sentence_end", begin, last)[: last - begin - 1]) + 1
        edges = [begin, *inside.tolist(), last]
        odd = [len(edges) - 3] if len(edges) % 2 == 0 else []
        for at in [*range(0, len(edges) - 2, 2), *odd] if len(edges) > 2 else []:
            found.append((max(edges[at], edges[at + 1] - room), min(edges[at + 2], edges[at + 1] + room), document))
        begin = end
    starts, stops, owners = np.asarray(found, np.int64).reshape(-1, 3).T
    return starts, stops, owners


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


def truncate(first: Text, second: Text, room: int, draw: np.random.Generator) -> tuple[Text, Text]:
    """Both texts cut to fit together: always the longer one gives, from a random end (BERT's truncate_seq_pair)."""
    while len(first) + len(second) > room:
        front = draw.random() < 0.5
        if len(first) > len(second):
            first = first[1:] if front else first[:-1]
        else:
            second = second[1:] if front else second[:-1]
    return first, second
