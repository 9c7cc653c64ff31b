"""A source: files of one kind, cut into shards that depend on the files alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, did_you_mean
from foreword.basics.spec import Spec
from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.reading import Unit

MEGABYTE = 2**20
TOGETHER = 8 * MEGABYTE  # small files that are one shard


class Source(Spec):
    """Where documents come from. What is left out while reading is counted like what a stage leaves out."""

    endings: ClassVar[tuple[str, ...]] = ()  # of the files that are read in a folder

    kind: str
    path: str | list[str]  # files or folders
    name: str = ""  # of the source, in the card; without one: of the first path
    licence: str = ""
    largest: int = Field(default=20, gt=0)  # megabytes of one document, unpacked: a larger one is left out, and counted

    @property
    def paths(self) -> list[Path]:
        return [Path(one) for one in ([self.path] if isinstance(self.path, str) else self.path)]

    @property
    def called(self) -> str:
        return self.name or (self.paths[0].name if self.paths else "")

    @property
    def limit(self) -> int:
        """Bytes."""
        return self.largest * MEGABYTE

    def files(self) -> list[Path]:
        """Those named, and those in folders with a known ending, in sorted order."""
        found: list[Path] = []
        for path in self.paths:
            if path.is_dir():
                inside = [one for one in walk(path) if one.name.lower().endswith(self.endings)]
                if not inside:
                    raise Fault(f"{path} holds no file that ends with {', '.join(self.endings)}.")
                found += inside
            elif path.exists():
                found.append(path)
            else:
                beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
                raise Fault(f"{path} is not there.{did_you_mean(path.name, beside)}")
        if not found:
            raise Fault(f"the source {self.called!r} names no file.")
        return found

    def shards(self) -> list[Unit]:
        """Small files together, large ones alone; a kind of file that can be cut says so itself."""
        made: list[Unit] = []
        group: list[str] = []
        size = 0
        for path in self.files():
            if group and size + path.stat().st_size > TOGETHER:
                made.append(Unit(tuple(group), size))
                group, size = [], 0
            group.append(str(path))
            size += path.stat().st_size
        return [*made, Unit(tuple(group), size)]

    def extract(self, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        for name in unit.files:
            for document in self.read(Path(name), unit, tally):
                if document.text and not document.text.isspace():
                    yield document
                else:
                    tally.remove("no text", document)

    def read(self, path: Path, unit: Unit, tally: Tally) -> Iterator[CorpusDocument]:
        """The documents of one file, or of the range of it that the unit names."""
        raise NotImplementedError

    def settings(self) -> JsonObject:
        """What the output depends on: the settings, and the files as they are now."""
        stats = [(str(path), path.stat()) for path in self.files()]
        return {**self.model_dump(), "files": [[name, one.st_size, one.st_mtime_ns] for name, one in stats]}


def walk(folder: Path) -> Iterator[Path]:
    for inside, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(inside, name) for name in sorted(names) if not name.startswith("."))
