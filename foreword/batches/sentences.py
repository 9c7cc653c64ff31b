"""Pairs of single sentences with a label: how far apart they stand, or which connective was taken from between them."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.batches.cuts import Cut
from foreword.batches.full_sentences import documents
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import truncate, with_sentences
from foreword.batches.shuffled import Shuffled
from foreword.tokens.store import TokenStore

NEXT, NEAR, FAR = 0, 1, 2  # neighbours, of one document, of two


class Sentences:
    """Every sentence of a store: its places, its document, and its number there."""

    def __init__(self, store: TokenStore):
        self.spans: list[tuple[int, int]] = []
        owners: list[int] = []
        for document, (begin, last, inside) in enumerate(documents(store)):
            edges = [begin, *inside, *([last] if not inside or inside[-1] < last else [])]
            self.spans += list(zip(edges, edges[1:]))
            owners += [document] * (len(edges) - 1)
        self.owners = np.asarray(owners, np.int64)

    def __len__(self) -> int:
        return len(self.spans)


class Distance(Cut):
    """Two sentences: neighbours, of one document but no neighbours, or of two documents; each a third of the rows."""

    kind: Literal["distance"] = "distance"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 2

    def over(self, store: TokenStore, batch_size: int, seed: int) -> DistanceCutter:
        self.needs(store, 16, "a pair of sentences")
        with_sentences(store)
        return DistanceCutter(store, self.size().ids - (store.tokenizer.separators - 1), batch_size, seed)


class DistanceCutter(Shuffled):
    def __init__(self, store: TokenStore, room: int, batch_size: int, seed: int):
        self.store, self.room, self.all = store, room, Sentences(store)
        owners = self.all.owners
        sizes = np.bincount(owners) if len(owners) else np.zeros(0, np.int64)
        self.firsts = np.cumsum(sizes) - sizes
        self.per_document = sizes
        # from which sentences a pair of each class can be made
        follows = np.flatnonzero(owners[:-1] == owners[1:]) if len(owners) else owners
        number = np.arange(len(owners)) - self.firsts[owners]
        others = sizes[owners] - 1 - (number > 0) - (number < sizes[owners] - 1)
        self.able = [follows, np.flatnonzero(others > 0), np.arange(len(owners) if len(sizes) > 1 else 0)]
        if not all(map(len, self.able)):
            raise Fault(
                f"{store.folder} ({store.split}) has too few sentences: two documents, one of them of three, are needed.",
                "Give more text, or cut it otherwise (--documents).",
            )
        super().__init__(len(owners), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def pair(self, epoch: int, own: int) -> tuple[int, int, int]:
        """(first sentence, second, class)."""
        draw = chance(self.seed, epoch, 9, own)
        label = int(draw.integers(3))
        able = self.able[label]
        at = int(np.searchsorted(able, own))
        first = own if at < len(able) and able[at] == own else int(draw.choice(able))
        if label == NEXT:
            return first, first + 1, label
        owner = int(self.all.owners[first])
        begin, size = int(self.firsts[owner]), int(self.per_document[owner])
        if label == NEAR:
            others = [one for one in range(begin, begin + size) if abs(one - first) > 1]
            return first, int(draw.choice(others)), label
        drawn = int(draw.integers(len(self.all) - size))
        return first, drawn if drawn < begin else drawn + size, label

    def _row(self, number: int, epoch: int, own: int) -> Row:
        first, second, label = self.pair(epoch, own)
        one, other = (range(*self.all.spans[place]) for place in (first, second))
        one, other = truncate(one, other, self.room, chance(self.seed, epoch, 10, own))
        read = self.store.read
        return Row(read(one.start, one.stop), number, self.seed, read(other.start, other.stop), label=label)


CONNECTIVES = (
    *("however", "therefore", "for example", "but", "also", "otherwise", "then", "thus", "similarly", "in addition"),
    *("finally", "because", "so", "instead", "moreover", "if", "when", "while", "although"),
    *("但是", "因此", "所以", "然而", "例如", "而且", "于是", "不过", "另外", "因为", "如果", "虽然"),
)


class Discourse(Cut):
    """Neighbouring sentences of which the second begins with a connective: it is taken away, and is the class."""

    kind: Literal["discourse"] = "discourse"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 2
    connectives: list[str] = list(CONNECTIVES)

    def over(self, store: TokenStore, batch_size: int, seed: int) -> DiscourseCutter:
        self.needs(store, 16, "a pair of sentences")
        with_sentences(store)
        room = self.size().ids - (store.tokenizer.separators - 1)
        return DiscourseCutter(store, room, self.connectives, batch_size, seed)


class DiscourseCutter(Shuffled):
    def __init__(self, store: TokenStore, room: int, connectives: list[str], batch_size: int, seed: int):
        self.store, self.room, every = store, room, Sentences(store)
        # the longest first, and as it is written: lower case, capitalised, behind a space
        forms = {
            tuple(store.tokenizer.encode(form)): label
            for label, word in enumerate(connectives)
            for form in (word, word.capitalize(), f" {word}", f" {word.capitalize()}")
        }
        known = sorted(((ids, label) for ids, label in forms.items() if ids), key=lambda one: -len(one[0]))
        longest = len(known[0][0]) if known else 0
        self.pairs: list[tuple[int, int, int]] = []  # (second sentence, tokens of its connective, class)
        self.spans = every.spans
        for second in range(1, len(every)):
            start, stop = every.spans[second]
            if every.owners[second] != every.owners[second - 1]:
                continue
            begins = tuple(store.read(start, min(start + longest, stop)).tolist())
            for ids, label in known:
                if begins[: len(ids)] == ids and stop - start > len(ids):
                    self.pairs.append((second, len(ids), label))
                    break
        if not self.pairs:
            raise Fault(
                f"{store.folder} ({store.split}) has no sentence that begins with one of the connectives.",
                "Name those of your language (batches.tasks: connectives), give labelled pairs, or leave the task out.",
            )
        super().__init__(len(self.pairs), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def _row(self, number: int, epoch: int, own: int) -> Row:
        second, skip, label = self.pairs[own]
        start, stop = self.spans[second]
        one, other = truncate(
            range(*self.spans[second - 1]), range(start + skip, stop), self.room, chance(self.seed, epoch, 11, own)
        )
        read = self.store.read
        return Row(read(one.start, one.stop), number, self.seed, read(other.start, other.stop), label=label)
