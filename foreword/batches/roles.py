"""Pairs of texts, and dialogues as two or three turns with roles, half of them with a turn from elsewhere (ERNIE 1.0)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Share, Size
from foreword.basics.seeds import chance
from foreword.batches.cuts import Cutter, Shuffled
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import SentencePairs
from foreword.tokens.store import TokenStore
from foreword.tokens.turns import ANSWERS, SKIPPED

QUERY, RESPONSE = 0, 1


class PairsAndDialogues(SentencePairs):
    """Of a store of text, sentence pairs; of a store of dialogues, rows of turns. A mixture of both gives both."""

    kind: Literal["pairs_and_dialogues"] = "pairs_and_dialogues"  # type: ignore[assignment]
    turns: Size = 3  # of a dialogue in one row, at most
    fake: Share = 0.5  # share of dialogues with a turn of another one in place of its own

    def over(self, store: TokenStore, batch_size: int, seed: int) -> Cutter:  # type: ignore[override]
        if SKIPPED not in store.marks:
            return super().over(store, batch_size, seed)
        room = self.size().ids - max(self.turns - self.texts, 0) * store.tokenizer.separators
        return RoleCutter(store, room, self.turns, self.fake, batch_size, seed, self._carried)


class RoleCutter(Shuffled):
    """A row is up to `most` neighbouring turns. Whoever speaks first in it is Q, anyone else R: QR, QRQ, QRR, QQR."""

    def __init__(
        self,
        store: TokenStore,
        room: int,
        most: int,
        fake: float,
        batch_size: int,
        seed: int,
        marks: tuple[str, ...] = (),
    ):
        self.store, self.room, self.fake, self.marks = store, room, fake, marks
        self.pieces, self.documents = stretches(store, most)
        if len(set(self.documents)) < 2:
            raise Fault(
                f"{store.folder} ({store.split}) has fewer than two dialogues of two turns.",
                "A turn that does not belong comes from another dialogue: give more of them.",
            )
        super().__init__(len(self.pieces), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def _row(self, number: int, epoch: int, own: int) -> Row:
        draw = chance(self.seed, epoch, 6, own)
        turns = list(self.pieces[own])
        spoken = [self._answers(*turn, index) for index, turn in enumerate(turns)]
        roles = tuple(QUERY if one == spoken[0] else RESPONSE for one in spoken)
        fake = bool(draw.random() < self.fake)
        if fake:  # the role stays: only what is said betrays it
            other = int(draw.integers(self.count))
            while self.documents[other] == self.documents[own]:
                other = int(draw.integers(self.count))
            turns[int(draw.integers(len(turns)))] = self.pieces[other][int(draw.integers(len(self.pieces[other])))]
        kept = [range(start, start + length) for (start, _), length in zip(turns, fitted(turns, self.room))]
        ids = np.concatenate([self.store.read(one.start, one.stop) for one in kept])
        marks = {
            name: np.concatenate([self.store.read_mark(name, one.start, one.stop) for one in kept])
            for name in self.marks
        }
        lengths = tuple(map(len, kept))
        return Row(ids, number, self.seed, follows=not fake, turns=lengths, roles=roles, marks=marks)

    def _answers(self, start: int, stop: int, index: int) -> bool:
        """Whether another than the first speaker of the dialogue says this turn; in a store that does not know, every other."""
        if ANSWERS not in self.store.marks:
            return index % 2 == 1
        return bool(self.store.read_mark(ANSWERS, start, start + 1)[0])


def stretches(store: TokenStore, most: int) -> tuple[list[tuple[tuple[int, int], ...]], list[int]]:
    """(the turns of each row, each as its places in the store; the dialogue of each row). A last single turn joins nothing."""
    end, begin = store.tokenizer.special("[end]"), 0
    found: list[tuple[tuple[int, int], ...]] = []
    documents: list[int] = []
    for document, stop in enumerate(np.asarray(store.ends, np.int64).tolist()):
        borders = (begin + np.flatnonzero(store.read(begin, stop) == end)).tolist()
        turns = [(a, b) for a, b in zip([begin, *(border + 1 for border in borders)], borders) if b > a]
        for at in range(0, len(turns) - 1, most):
            if len(turns[at : at + most]) > 1:
                found.append(tuple(turns[at : at + most]))
                documents.append(document)
        begin = stop
    return found, documents


def fitted(turns: list[tuple[int, int]], room: int) -> list[int]:
    """How much of each turn is kept so that all fit: the longest gives first."""
    lengths = [stop - start for start, stop in turns]
    while sum(lengths) > room:
        lengths[lengths.index(max(lengths))] -= 1
    return lengths
