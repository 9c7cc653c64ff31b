"""One pass: the documents of a shard through some stages, to a file of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from foreword.basics.files import JsonObject, write_json_lines
from foreword.text.corpus.document import read_rows
from foreword.text.corpus.facts import CorpusFacts
from foreword.text.corpus.plan import CorpusPlan
from foreword.text.corpus.stage import Documents, Tally, WholeStage, size_of
from foreword.text.reading import Unit


@dataclass(frozen=True)
class ShardOfSource:
    """A unit, the place of its source in the plan, and its own number among all."""

    source: int
    unit: Unit
    number: int


def sketch_place(folder: Path, stage: int, shard: int) -> Path:
    return folder / "sketches" / str(stage) / f"{shard:05d}"


@dataclass(frozen=True)
class Pass:
    """The first reads the sources, each later one what the one before has written. Returns tallies; the last one also facts."""

    folder: Path
    number: int
    plan: CorpusPlan
    stages: range  # those it runs
    last: int | None  # the stage for which it makes sketches; None: nothing comes after this pass

    def __call__(self, shard: ShardOfSource) -> JsonObject:
        tallies = {str(stage): Tally() for stage in self.stages}
        if self.number == 0:
            tallies["read"] = Tally()
            documents = self._read(shard, tallies["read"])
        else:
            documents = read_rows(self.folder / f"pass-{self.number - 1}" / f"{shard.number:05d}.jsonl")
        for stage in self.stages:
            one = self.plan.stages[stage]
            place = self.folder / "prepared" / str(stage)
            if isinstance(one, WholeStage):
                place = sketch_place(self.folder, stage, shard.number)
            documents = one.running(documents, tallies[str(stage)], place)
        facts = CorpusFacts()
        if self.last is None:
            documents = facts.gather(documents)
        else:
            sketched = self.plan.stages[self.last]
            assert isinstance(sketched, WholeStage)
            documents = sketched.sketch(documents, sketch_place(self.folder, self.last, shard.number))
        written = self.folder if self.last is None else self.folder / f"pass-{self.number}"
        write_json_lines(written / f"{shard.number:05d}.jsonl", (document.row() for document in documents))
        self._write_removed(shard.number, tallies)
        record = {"source": shard.source, "tallies": {place: tally.data() for place, tally in tallies.items()}}
        return record | ({"facts": facts.data()} if self.last is None else {})

    def _read(self, shard: ShardOfSource, tally: Tally) -> Documents:
        source = self.plan.sources[shard.source]
        for number, one in enumerate(source.extract(shard.unit, tally)):
            size = size_of(one.text)
            tally.kept, tally.kept_bytes = tally.kept + 1, tally.kept_bytes + size
            yield replace(one, id=f"{shard.number}.{number}", name=source.called)
        tally.read = tally.kept + sum(tally.removed.values())
        tally.read_bytes = shard.unit.size

    def _write_removed(self, shard: int, tallies: dict[str, Tally]) -> None:
        """Not .jsonl: what reads the corpus must not read this."""

        def rows() -> Iterator[JsonObject]:
            for place, tally in tallies.items():
                stage = self.plan.stages[int(place)].kind if place != "read" else "reading"
                yield from ({"stage": stage, **row} for row in tally.gone)

        if any(tally.gone for tally in tallies.values()):
            write_json_lines(self.folder / "removed" / f"{shard:05d}.{self.number}.log", rows())
