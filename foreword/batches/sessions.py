"""Sessions of a dialogue store as rows of whole turns: what is too long for one row goes on in the next, from its last turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.batches.cuts import Cut
from foreword.batches.row import Row
from foreword.batches.shuffled import Bucketed
from foreword.tokens.store import TokenStore
from foreword.tokens.turns import SKIPPED


class Sessions(Cut):
    """One session a row, in random order; a longer one is split between turns, its last turn carried over."""

    kind: Literal["sessions"] = "sessions"
    marks: ClassVar[tuple[str, ...]] = (SKIPPED,)
    ragged: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> SessionCutter:
        self.needs(store, 2, "one session")
        if SKIPPED not in store.marks:
            raise Fault(
                f"{store.folder} does not know where turns end: it was not made from dialogues.",
                "Make a store of dialogues:  foreword tokens TEXT --documents dialogues --out STORE",
            )
        begin = 1 if store.tokenizer.has("[cls]") else 0
        cutter = SessionCutter(store, self.size().ids - begin, batch_size, seed)
        if cutter.left_out:
            they = "1 reply is" if cutter.left_out == 1 else f"{cutter.left_out:,} replies are"
            answer = "it answers, and is" if cutter.left_out == 1 else "they answer, and are"
            say(
                f"{store.folder} ({store.split}): {they} too long to stand in a row with anything {answer} not learned."
            )
        return cutter


class SessionCutter(Bucketed):
    """`room`: the most ids of a row. `left_out` counts replies too long to stand in a row with anything they answer."""

    def __init__(self, store: TokenStore, room: int, batch_size: int, seed: int):
        self.store, self.end = store, store.tokenizer.special("[end]")
        self.spans, self.left_out = stretches(store, room)
        if not len(self.spans):
            raise Fault(
                f"{store.folder} ({store.split}) has no reply to learn from: no session of two turns that fit "
                f"{room} tokens.",
                "Give more dialogues, or longer rows: --set network.context=...",
            )
        super().__init__(self.spans[:, 1] - self.spans[:, 0], batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        at = step * self.batch_size
        return [self._row(number) for number in range(at + first, at + stop)]

    def _row(self, number: int) -> Row:
        start, stop = self.spans[self.place(number)].tolist()
        ids = self.store.read(start, stop)
        turn = np.cumsum(np.concatenate([[0], ids[:-1] == self.end]))
        firsts = np.searchsorted(turn, np.arange(turn[-1] + 1))
        skipped = self.store.read_mark(SKIPPED, start, stop)[firsts]  # a turn's [end] is learned if its words are
        return Row(ids, number, self.seed, learned=~skipped[turn])


def stretches(store: TokenStore, room: int) -> tuple[np.ndarray, int]:
    """(start and stop of every row, how many replies fit no row)."""
    end = store.tokenizer.special("[end]")
    found: list[tuple[int, int]] = []
    left_out = begin = 0
    for stop in np.asarray(store.ends, np.int64).tolist():
        borders = begin + np.flatnonzero(store.read(begin, stop) == end) + 1
        rows, lost = whole_turns([begin, *borders.tolist()], room)
        found += rows
        left_out, begin = left_out + lost, stop
    return np.asarray(found, np.int64).reshape(-1, 2), left_out


def whole_turns(borders: Sequence[int], room: int) -> tuple[list[tuple[int, int]], int]:
    """(rows of at most `room` ids, replies left out) of a session whose turns lie between these borders.

    Every reply stands in exactly one row behind at least the turn before it. If not even these two fit, the older one is
    cut from the left; a reply that alone fills a row is left out.
    """
    rows: list[tuple[int, int]] = []
    left_out = first = 0
    while first + 2 < len(borders):
        last = first + 1
        while last + 1 < len(borders) and borders[last + 1] - borders[first] <= room:
            last += 1
        if last > first + 1:  # turns first to last - 1, and on from the last of them
            rows.append((borders[first], borders[last]))
            first = last - 1
        else:
            start, stop = max(borders[first], borders[first + 2] - room), borders[first + 2]
            fits = borders[first + 1] - start >= 2  # a word and the [end] of what is answered
            rows += [(start, stop)] if fits else []
            left_out, first = left_out + (not fits), first + 1
    return rows, left_out
