"""LabelledPairs: two texts and a label from a file (queries, titles and clicks; sentences and their relation), beside a text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault, did_you_mean
from foreword.basics.seeds import chance
from foreword.batches.cuts import Cut
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import truncate
from foreword.batches.shuffled import Shuffled
from foreword.tokens.store import TokenStore


class LabelledPairs(Cut):
    """Lines of `first<tab>second<tab>label`.

    `unrelated`: one class more, of as many rows as the others have on average: the first with the second of another line.
    """

    kind: Literal["labelled_pairs"] = "labelled_pairs"
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 2
    file: str
    labels: list[str] = ["clicked", "shown"]
    unrelated: bool = False
    retired: ClassVar[Mapping[str, object]] = {"strangers": False}  # its earlier name

    def over(self, store: TokenStore, batch_size: int, seed: int) -> LabelledCutter:
        pairs = read(Path(self.file), self.labels)
        texts = [text for first, second, _ in pairs for text in (first, second)]
        ids = store.tokenizer.encode_many(texts)
        labels = [label for _, _, label in pairs]
        more = len(self.labels) if self.unrelated else 0
        room = self.size().ids - (store.tokenizer.separators - 1)
        return LabelledCutter(ids[::2], ids[1::2], labels, more, room, batch_size, seed)


class LabelledCutter(Shuffled):
    """`unrelated`: the class of pairs that do not belong together; 0: there are none."""

    def __init__(
        self,
        firsts: list[np.ndarray],
        seconds: list[np.ndarray],
        labels: list[int],
        unrelated: int,
        room: int,
        batch_size: int,
        seed: int,
    ):
        self.firsts, self.seconds, self.labels, self.unrelated, self.room = firsts, seconds, labels, unrelated, room
        super().__init__(len(labels), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def _row(self, number: int, epoch: int, own: int) -> Row:
        draw = chance(self.seed, epoch, 12, own)
        second, label = self.seconds[own], self.labels[own]
        if self.unrelated and draw.random() < 1 / (self.unrelated + 1):
            second, label = self.seconds[(own + 1 + int(draw.integers(self.count - 1))) % self.count], self.unrelated
        first, second = truncate(self.firsts[own], second, self.room, draw)
        return Row(first, number, self.seed, second, label=label)


def read(path: Path, labels: list[str]) -> list[tuple[str, str, int]]:
    """(first, second, class) of every line."""
    if not path.is_file():
        raise Fault(f"{path} is not there.", "It has lines of  first<tab>second<tab>label.")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        parts = line.split("\t")
        if len(parts) != 3 or not all(part.strip() for part in parts):
            raise Fault("this line is not  first<tab>second<tab>label.", where=f"{path}:{number}")
        if parts[2] not in labels:
            raise Fault(
                f"the label {parts[2]!r} is not known.{did_you_mean(parts[2], labels)}",
                f"Labels: {', '.join(labels)} (the setting `labels` of the task).",
                where=f"{path}:{number}",
            )
        found.append((parts[0], parts[1], labels.index(parts[2])))
    if len(found) < 2:
        raise Fault(f"{path} has fewer than two pairs.")
    return found
