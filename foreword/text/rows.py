"""Files whose rows are documents: jsonl (plain, .gz, .zst), csv and parquet, read row by row."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from foreword.basics.files import parse_json
from foreword.basics.messages import Fault, did_you_mean
from foreword.text import compressed
from foreword.text.document import Document, Span
from foreword.text.encoding import decoded

ENTITIES = ("entities", "spans")  # customary names of the entities of a row
CUSTOMARY = ("text", "content")  # the default column, and the one taken when it is missing
_HALF = re.compile("[\ud800-\udfff]")
Lines = Callable[[Path], Iterator[tuple[int, str]]]


def documents(path: Path, ending: str, column: str, lines: Lines, first: Callable[[Path], int]) -> Iterator[Document]:
    """The documents of one file; `lines` reads a plain file or a range of it, whose first line has number `first`."""
    texts: Iterator[tuple[Any, ...]]
    if ending == ".parquet":
        texts = _parquet(path, column)
    elif ending == ".csv":
        texts = _csv(path, column)
    elif ending == ".jsonl":
        texts = _json_lines(column, lines(path))
    else:
        texts = _json_lines(column, compressed.lines(path))
    try:
        for number, text, *found in texts:
            if not text or text.isspace():
                continue
            if not text.isascii() and (half := _HALF.search(text)):
                raise RowFault(
                    number,
                    f"character {half.start()} of the text is half of a surrogate pair, which is not valid Unicode.",
                    "Remove the row or the character.",
                )
            yield Document(text, str(path), spans=spans_of(found[0], text, number) if found else ())
    except RowFault as fault:
        number = fault.number + (first(path) - 1 if ending == ".jsonl" else 0)
        raise Fault(fault.what, fault.do, where=f"{path}:{number}") from fault


class RowFault(Fault):
    """Something wrong in one row, which knows its number but not yet its file."""

    def __init__(self, number: int, what: str, do: str = ""):
        super().__init__(what, do)
        self.number = number


def spans_of(said: Any, text: str, number: int) -> tuple[Span, ...]:
    """Entities as a row has them: `[first, past the last]`, or objects with "start" and "end", counted in characters."""
    form = 'An entity is [first character, one past the last], or {"start": ..., "end": ...}.'
    if not isinstance(said, list):
        raise RowFault(number, f"its entities are a {type(said).__name__}, not a list.", form)
    found = []
    for one in said:
        pair = [one.get("start"), one.get("end")] if isinstance(one, dict) else one
        if not isinstance(pair, list) or len(pair) != 2 or any(type(place) is not int for place in pair):
            raise RowFault(number, f"{one!r} is not an entity.", form)
        if not 0 <= pair[0] < pair[1] <= len(text):
            raise RowFault(
                number,
                f"the entity {pair} does not lie in its text, which has {len(text)} characters.",
                "Count characters of the text (not bytes or tokens), from 0; the end is one past the last.",
            )
        found.append((pair[0], pair[1]))
    return tuple(found)


def _json_lines(column: str, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[Any, ...]]:
    """(number, text), and the entities of a row that has some."""
    for number, row in json_rows(lines):
        if isinstance(row, str):
            yield number, row
        elif isinstance(row, dict):
            text = _as_text(row[_chosen(column, list(row), number)], column, number)
            yield number, text, *[row[name] for name in ENTITIES if row.get(name)][:1]
        else:
            raise RowFault(number, f"this line is a JSON {type(row).__name__}, not an object with a text.")


def json_rows(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
    """What stands in each line that is not empty, with its number."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            yield number, parse_json(line)
        except json.JSONDecodeError as error:
            raise RowFault(
                number,
                f"this line is not JSON: {error.msg} (column {error.colno}).",
                "Every line of a .jsonl file is one JSON object. Mend or remove the line.",
            ) from error


def _csv(path: Path, column: str) -> Iterator[tuple[int, str]]:
    def lines() -> Iterator[str]:
        position = 0
        with open(path, "rb") as file:
            for line in file:
                yield decoded(line, path, position)
                position += len(line)

    place = -1
    for number, row in csv_rows(lines()):
        if place < 0:
            check_separator(row)
            place = row.index(_chosen(column, row, number))
        elif len(row) > place:
            yield number, row[place]


def csv_rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows, each with the number of its last line. A quote that does not end where it should swallows no rows."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # the default refuses fields over 128 KiB
    kept: list[str] = []  # the lines of the row that is read

    def noted() -> Iterator[str]:
        for line in lines:
            kept.append(line)
            yield line

    reader = csv.reader(noted())
    while True:
        first = reader.line_num + 1
        kept.clear()
        try:
            row = next(reader, None)
            if row is None:
                return
            if len(kept) > 1:
                list(csv.reader(kept, strict=True))
        except csv.Error as error:
            if len(kept) > 1:
                raise RowFault(
                    first,
                    f"a quote is opened in this row and not closed in it: {len(kept):,} lines would be one row.",
                    'Close it; a quote that is meant as such is doubled and inside quotes: "so ""called"" text".',
                ) from error
            raise RowFault(reader.line_num, f"this is not valid CSV: {error}.") from error
        yield reader.line_num, row


def check_separator(header: list[str]) -> None:
    """Names of columns in one cell: they are separated by something else."""
    names = {";": "semicolons", "\t": "tabs", "|": "bars"}
    if len(header) == 1 and (seen := next((mark for mark in names if mark in header[0]), "")):
        raise RowFault(
            1,
            f"its columns are separated by {names[seen]} ({seen!r}); those of a .csv are separated by commas.",
            "Save it with commas, or with tabs as .tsv.",
        )


def _parquet(path: Path, column: str) -> Iterator[tuple[int, str]]:
    arrow, parquet = compressed.extra("pyarrow", path), compressed.extra("pyarrow.parquet", path)
    try:
        with parquet.ParquetFile(path) as file:
            chosen = _chosen(column, list(file.schema_arrow.names), 0)
            number = 0
            for batch in file.iter_batches(batch_size=1024, columns=[chosen]):
                for text in batch.column(0).to_pylist():
                    number += 1
                    yield number, _as_text(text, chosen, number)
    except arrow.ArrowException as error:
        raise Fault(f"this is not a whole Parquet file: {error}.", where=str(path)) from error


def _chosen(column: str, there: list[str], number: int) -> str:
    if column in there:
        return column
    if column == CUSTOMARY[0] and CUSTOMARY[1] in there:
        return CUSTOMARY[1]
    raise RowFault(
        number,
        f"there is no column {column!r}.{did_you_mean(column, there)}",
        f"The columns there are: {', '.join(there) or 'none'}. Choose one:  --column NAME",
    )


def _as_text(value: Any, column: str, number: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RowFault(
            number, f"{column!r} holds a {type(value).__name__}, not text.", "Choose another:  --column NAME"
        )
    return value
