"""Where a task's examples come from: files whose rows are examples, by split. Published formats are in `published`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.spec import Spec
from foreword.tasks.template import Row
from foreword.text.encoding import decoded
from foreword.text.rows import RowFault, check_separator, csv_rows, json_rows

SPLITS = ("train", "valid", "test")
VARIABLE = "FOREWORD_DATA"
Names = str | tuple[str, ...]  # of a file; several: under which it is commonly found


class Missing(Fault):
    """Data that is not there."""


@dataclass(frozen=True)
class SearchPath:
    """Where files are looked for: beside the task file first, then in the data folder (nothing of it is shipped)."""

    beside: Path
    given: Path | None = None

    @property
    def data(self) -> Path | None:
        """What the user gave, or what FOREWORD_DATA says."""
        return self.given or (Path(said) if (said := os.environ.get(VARIABLE)) else None)

    def find(self, names: Names, folder: bool = False) -> Path:
        """The first of these that is there. The data folder may also be the folder of the set itself."""
        every = (names,) if isinstance(names, str) else names
        for place in (place for name in every for place in self._places(Path(name))):
            if place.is_dir() if folder else place.is_file():
                return place
        nor = f"neither beside the task file nor in {self.data}"
        said = nor if self.data else "not beside the task file, and no data folder is given"
        raise Missing(f"{every[0]} is {said}.", f"Say where the data is:  --data FOLDER, or set {VARIABLE}")

    def _places(self, name: Path) -> Iterator[Path]:
        yield self.beside / name
        if self.data is not None:
            yield self.data / name
            within = Path(*name.parts[1:])
            if len(name.parts) > 2 or self.data.name == name.parts[0]:
                yield self.data / within


class Line(JsonObject):
    """A row that knows on which line of its file it begins."""

    def __init__(self, row: Row, line: int):
        super().__init__(row)
        self.line = line


class ExampleSource(Spec):
    """What has rows, each a mapping from field to value, in one or more splits."""

    def splits(self) -> list[str]:
        raise NotImplementedError

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        raise NotImplementedError

    def there(self, where: SearchPath) -> list[str]:
        """The splits that are read: all, but for those that may be missing and are."""
        return self.splits()

    def shown(self, split: str) -> str:
        """What a split is called in messages: its file."""
        named = getattr(self, split, split)
        return str(named if isinstance(named, str) else named[0])


class BySplit(ExampleSource):
    """What is given for each split: settings `train`, `valid` and `test`."""

    def splits(self) -> list[str]:
        return [name for name in SPLITS if getattr(self, name)]

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.splits() else [("test", "no file is given: a source needs train, valid or test.")]


class Files(BySplit):
    """A file for each split."""

    train: Names = ""
    valid: Names = ""
    test: Names = ""
    optional: tuple[str, ...] = ()  # splits that few people have: without them, the others are cut to stand for them

    def there(self, where: SearchPath) -> list[str]:
        return [name for name in self.splits() if name not in self.optional or self._has(name, where)]

    def _has(self, split: str, where: SearchPath) -> bool:
        try:
            return bool(where.find(getattr(self, split)))
        except Missing:
            return False

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        path = where.find(getattr(self, split))
        try:
            found = list(self.read(path))
        except RowFault as fault:
            raise Fault(fault.what, fault.do, where=f"{path}:{fault.number}") from fault
        if not found:
            raise Fault(f"{path} holds no example.")
        return found

    def read(self, path: Path) -> Iterator[Row]:
        """The rows of one file, in order."""
        raise NotImplementedError


class Generated(ExampleSource):
    """Examples drawn by a seed: the first half are test, the others train."""

    seed: int = 0

    def splits(self) -> list[str]:
        return ["train", "test"]

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        rows = self.drawn(where)
        half = len(rows) // 2
        return rows[:half] if split == "test" else rows[half:]

    def drawn(self, where: SearchPath) -> Sequence[Row]:
        raise NotImplementedError


def text_of(path: Path) -> str:
    return decoded(path.read_bytes(), path, 0)


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers. Only a newline ends a line: text may hold other separators."""
    lines = text_of(path).split("\n")
    return enumerate(lines[:-1] if lines[-1] == "" else lines, 1)


def json_lines(path: Path) -> Iterator[Line]:
    for number, row in json_rows(numbered(path)):
        if not isinstance(row, dict):
            raise RowFault(number, f"this line is a JSON {type(row).__name__}, not an object.")
        yield Line(row, number)


class JsonLines(Files):
    """A JSON object on each line."""

    kind: Literal["jsonl"] = "jsonl"

    def read(self, path: Path) -> Iterator[Row]:
        return json_lines(path)


class Delimited(Files):
    """Rows of columns; `columns` names them where the file has no header."""

    columns: tuple[str, ...] = ()
    broken: Literal["refuse", "skip"] = "refuse"  # rows with another number of columns

    def cells(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        raise NotImplementedError

    def read(self, path: Path) -> Iterator[Row]:
        cells = self.cells(path)
        names = list(self.columns) or next(cells, (0, []))[1]
        for number, row in cells:
            if len(row) != len(names) and self.broken == "skip":
                continue
            if len(row) != len(names):
                raise RowFault(number, f"this row has {len(row)} columns, not the {len(names)} of {', '.join(names)}.")
            yield Line(dict(zip(names, row)), number)


class Csv(Delimited):
    """Comma-separated columns."""

    kind: Literal["csv"] = "csv"

    def cells(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        for number, row in csv_rows(line + "\n" for _, line in numbered(path)):
            if number == 1 and not self.columns:
                check_separator(row)
            if row:
                yield number, row


class Tsv(Delimited):
    """Tab-separated columns, without quoting."""

    kind: Literal["tsv"] = "tsv"

    def cells(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        return ((number, line.rstrip("\r").split("\t")) for number, line in numbered(path) if line.strip())


class Lines(BySplit):
    """Files whose lines belong together, one file for each field: `test = { english = "test.en", german = "test.de" }`."""

    kind: Literal["lines"] = "lines"
    train: dict[str, str] = {}
    valid: dict[str, str] = {}
    test: dict[str, str] = {}

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        files = getattr(self, split)
        columns = {name: [line for _, line in numbered(where.find(file))] for name, file in files.items()}
        if len(set(map(len, columns.values()))) > 1:
            lengths = ", ".join(f"{name} {len(lines):,}" for name, lines in columns.items())
            raise Fault(f"these files do not have the same number of lines: {lengths}.")
        return [dict(zip(columns, row)) for row in zip(*columns.values())]


class WholeFile(Files):
    """A file that is one text: its only example has the field `text`."""

    kind: Literal["whole"] = "whole"

    def read(self, path: Path) -> Iterator[Row]:
        yield {"text": text_of(path)}
