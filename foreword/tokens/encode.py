"""A unit of text to shards of ids: what a worker does, whichever machine it is on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypedDict

import numpy as np

from foreword.basics.files import write_array
from foreword.text.document import BATCH, Document, in_batches
from foreword.text.reading import Unit
from foreword.text.splits import Fractions, split_of
from foreword.tokens import marks as marking
from foreword.tokens import turns
from foreword.tokens.page import Page
from foreword.tokens.quick import flat
from foreword.tokens.store import SPLITS, Shard
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.units import UNITS, Units, encode_marked

SHARD = 2**20  # ids a worker holds before it writes them: its memory must not depend on how long a unit is


class UnitRecord(TypedDict):
    """What is noted of an encoded unit."""

    unknown: int
    dropped: int  # characters that an ASCII tokenizer leaves out
    lost: dict[str, int]  # by split: documents of which the ids do not hold every word
    splits: dict[str, list[Shard]]


@dataclass(frozen=True)
class UnitEncoder:
    """Encodes any unit with the tokenizer in `folder`, and writes its shards there."""

    folder: Path
    fractions: Fractions
    marks: tuple[str, ...]

    @cached_property
    def units(self) -> Units | None:
        return Units.load(self.folder) if set(self.marks) & set(UNITS) else None

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer.load(self.folder)

    def __call__(self, numbered: tuple[int, Unit]) -> UnitRecord:
        """Read, split, encode and write one unit; memory holds a batch and a shard of each split."""
        number, unit = numbered
        writers = [_ShardWriter(self, split, number) for split in SPLITS]
        record: UnitRecord = {"unknown": 0, "dropped": 0, "lost": dict.fromkeys(SPLITS, 0), "splits": {}}
        for batch in in_batches(unit.documents()):
            self._encode(batch, unit.split, writers, record)
        record["splits"] = {split: writer.close() for split, writer in zip(SPLITS, writers)}
        return record

    def _encode(self, batch: list[Document], split: str, writers: list[_ShardWriter], record: UnitRecord) -> None:
        """Some documents, each to the writer of its split (of `split`, if all belong there)."""
        page = Page.of([document.text for document in batch])
        encoded = _encoded(self.tokenizer, batch, page, self.marks, self.units)
        characters = np.fromiter(map(len, page.texts), np.int64, len(batch))
        about = np.stack([encoded.numbers, page.sizes, characters, marking.words(page)], 1)
        splits = (split or split_of(text, self.fractions) for text in page.texts)
        chosen = np.fromiter(map(SPLITS.index, splits), np.int64, len(batch))
        of_token = np.repeat(chosen, encoded.numbers)
        for place, writer in enumerate(writers):
            if (mine := chosen == place).any():
                writer.add(encoded.ids[of_token == place], encoded.flags[of_token == place], about[mine])
        if self.tokenizer.kind == "ascii":
            record["dropped"] += int(characters.sum() - encoded.numbers.sum())
        if self.tokenizer.kind == "word":
            each = np.split(encoded.ids, np.cumsum(encoded.numbers)[:-1])
            for text, ids, place in zip(page.texts, each, chosen.tolist()):
                record["lost"][SPLITS[place]] += not self.tokenizer.keeps(text, ids)
        if self.tokenizer.has("[unknown]"):
            record["unknown"] += int((encoded.ids == self.tokenizer.special("[unknown]")).sum())


def _encoded(
    tokenizer: Tokenizer, batch: list[Document], page: Page, marks: tuple[str, ...], units: Units | None
) -> marking.Encoded:
    if turns.SKIPPED not in marks:
        return encode_marked(tokenizer, page, marks, units, [document.spans for document in batch])
    ids, flags = turns.encode_documents(tokenizer, batch, marks, units)
    return marking.Encoded(*flat(ids), np.concatenate([np.empty(0, np.uint8), *flags]))


class _ShardWriter:
    """The shards of one unit and one split."""

    def __init__(self, encoder: UnitEncoder, split: str, number: int):
        tokenizer = encoder.tokenizer
        self.folder, self.marked, self.number = encoder.folder / split, bool(encoder.marks), number
        self.end, self.dtype, self.vocabulary = tokenizer.vocabulary().end, ids_dtype(tokenizer), len(tokenizer)
        self.shards: list[Shard] = []
        self._start()

    def _start(self) -> None:
        self.ids: list[np.ndarray] = []
        self.flags: list[np.ndarray] = []
        self.rows: list[np.ndarray] = []
        self.tokens = 0

    def add(self, ids: np.ndarray, flags: np.ndarray, about: np.ndarray) -> None:
        """Documents behind one another; `about` has a row for each: its ids, bytes, characters and words."""
        if self.end >= 0:
            behind = np.cumsum(about[:, 0])
            ids, flags = np.insert(ids, behind, self.end), np.insert(flags, behind, 0)
            about = about + np.array([1, 0, 0, 0])
        ids, ends = ids.astype(self.dtype), np.cumsum(about[:, 0])
        first = start = 0
        while first < len(about):  # a shard is closed by the document that fills it
            after = int(np.searchsorted(ends, start + SHARD - self.tokens)) + 1
            stop = int(ends[min(after, len(ends)) - 1])
            rows = about[first:after].copy()
            rows[:, 0] = ends[first:after] - start + self.tokens
            # copies, which do not keep the whole batch in memory
            self.ids.append(ids[start:stop].copy())
            self.flags.append(flags[start:stop].copy())
            self.rows.append(rows)
            self.tokens += stop - start
            first, start = after, stop
            if self.tokens >= SHARD:
                self._write()

    def close(self) -> list[Shard]:
        if self.rows:
            self._write()
        return self.shards

    def _write(self) -> None:
        name = f"{self.number:05d}-{len(self.shards):03d}"
        ids, rows = np.concatenate(self.ids), np.concatenate(self.rows)
        write_array(self.folder / f"{name}.ids.npy", ids)
        if self.marked:
            write_array(self.folder / f"{name}.marks.npy", np.concatenate(self.flags))
        write_array(self.folder / f"{name}.rows.npy", rows)
        # a piece at a time: numpy counts a copy in eight bytes, four times the ids themselves
        counts = sum(np.bincount(ids[at : at + BATCH], minlength=self.vocabulary) for at in range(0, len(ids), BATCH))
        write_array(self.folder / f"{name}.counts.npy", np.asarray(counts, np.int64))
        self.shards.append(
            {
                "name": name,
                "tokens": len(ids),
                "documents": len(rows),
                "bytes": int(rows[:, 1].sum()),
                "checksum": hashlib.blake2b(ids.data, digest_size=16).hexdigest(),
            }
        )
        self._start()


def ids_dtype(tokenizer: Tokenizer) -> np.dtype:
    return np.dtype(np.uint16 if len(tokenizer) <= 2**16 else np.uint32)
