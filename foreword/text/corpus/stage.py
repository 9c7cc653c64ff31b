"""A stage: a pure function of the documents of one shard, which counts what each of its rules did and keeps samples of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from foreword.basics.files import JsonObject
from foreword.basics.spec import Spec
from foreword.text.corpus.document import CorpusDocument

SAMPLES, SHOWN = 10, 300  # kept of each rule, and how many characters of each
Documents = Iterator[CorpusDocument]


class Tally:
    """What one stage did to one shard.

    Samples are those with the smallest hashes: a fair draw, and the same in whatever order shards are put together.
    """

    def __init__(self) -> None:
        self.removed: Counter[str] = Counter()  # documents, by rule
        self.changed: Counter[str] = Counter()  # lines, passages or marks, by rule
        self.samples: dict[str, list[str]] = {}
        self.gone: list[JsonObject] = []  # a line for each removed document, for `corpus why`
        self.read = self.read_bytes = self.kept = self.kept_bytes = 0

    def remove(self, rule: str, document: CorpusDocument, **about: object) -> None:
        self.removed[rule] += 1
        self._sample(rule, document.text)
        row = document.row()
        row.pop("text", None), row.pop("turns", None), row.pop("weights", None)
        self.gone.append({**row, "rule": rule, "begins": document.text[:SHOWN], **about})

    def change(self, rule: str, sample: str, times: int = 1) -> None:
        """A part of a document was left out or replaced; the sample shows it."""
        self.changed[rule] += times
        self._sample(rule, sample)

    def _sample(self, rule: str, text: str) -> None:
        kept = self.samples.setdefault(rule, [])
        short = text[:SHOWN]
        if len(kept) < SAMPLES or _order(short) < _order(kept[-1]):
            self.samples[rule] = sorted({*kept, short}, key=_order)[:SAMPLES]

    def data(self) -> JsonObject:
        return {
            "read": [self.read, self.read_bytes],
            "kept": [self.kept, self.kept_bytes],
            "removed": dict(self.removed),
            "changed": dict(self.changed),
            "samples": self.samples,
        }


def _order(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def merged(tallies: Iterable[JsonObject]) -> JsonObject:
    """The tallies of all shards as one."""
    whole: JsonObject = {"read": [0, 0], "kept": [0, 0], "removed": {}, "changed": {}, "samples": {}}
    for one in tallies:
        for what in ("read", "kept"):
            whole[what] = [mine + its for mine, its in zip(whole[what], one[what])]
        for what in ("removed", "changed"):
            whole[what] = dict(sorted((Counter(whole[what]) + Counter(one[what])).items()))
        for rule, some in one["samples"].items():
            whole["samples"][rule] = sorted({*whole["samples"].get(rule, ()), *some}, key=_order)[:SAMPLES]
    return {**whole, "samples": dict(sorted(whole["samples"].items()))}


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Stage(Spec):
    """The settings of a stage, and what it does."""

    kind: str

    def settings(self) -> JsonObject:
        """What the output depends on; a stage that reads files adds them as they are now."""
        return self.model_dump(mode="json")

    def prepare(self, folder: Path) -> JsonObject:
        """Done once, before any shard: what is learned is written into the folder, and what is to be told returned."""
        return {}

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        """The documents that pass, changed or not. `place`: the folder of `prepare`."""
        raise NotImplementedError

    def running(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        """The same, with what goes in and comes out counted."""

        def counted() -> Documents:
            for document in documents:
                tally.read += 1
                tally.read_bytes += size_of(document.text)
                yield document

        for document in self.run(counted(), tally, place):
            tally.kept += 1
            tally.kept_bytes += size_of(document.text)
            yield document


class WholeStage(Stage):
    """A stage that has to know all documents first: they are sketched shard by shard, and compared in one place.

    Then `run` is given as `place` the path where the sketch of its shard and what was found are, without their endings.
    """

    def sketch(self, documents: Documents, place: Path) -> Documents:
        """The same documents, noting on the way what is to be compared."""
        raise NotImplementedError

    def compare(self, places: list[Path]) -> None:
        """Of the sketches of all shards: what is to be done in each."""
        raise NotImplementedError
