"""From files to documents, in units that worker processes read on their own and in bounded memory.

The units of a file together yield every byte of its text exactly once, wherever the byte ranges were drawn.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.text import dialogues, rows
from foreword.text.document import Document
from foreword.text.encoding import decoded

PLAIN = (".txt", ".md")
ROWS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".csv", ".parquet")
ENDINGS = PLAIN + ROWS
# given by name, a file with any other ending is read as plain text, except these, which surely are not
NOT_TEXT = (".gz", ".zst", ".zip", ".bz2", ".xz", ".tar", ".json", ".pdf", ".docx", ".npy", ".bin", ".safetensors")
DOCUMENT_RULES = ("auto", "file", "line", "paragraph", "dialogues")

WHOLE = 64 * 2**10  # "auto": a plain file up to this size is one document
PIECE = 16 * 2**10  # a larger one is cut at blank lines into pieces of about this size,
PIECES = 200  # or of a smaller one that gives about so many: a few documents cannot be split three ways,
LEAST = 2**10  # but not below this
WINDOW = 2**20  # how far to look for a blank line before a newline, or the end of a character, must do
_BLANK = re.compile(rb"\n(?:[ \t\r]*\n)+")


@dataclass(frozen=True)
class Unit:
    """Some consecutive small files, or a byte range of one large file: what one worker reads at a time."""

    files: tuple[str, ...]
    size: int  # bytes on disk, for the progress bar
    cut: str = "auto"
    column: str = "text"
    start: int = 0
    stop: int = -1  # -1: to the end of the file
    split: str = ""  # the split that all of it belongs to; "": each document's text decides

    def documents(self) -> Iterator[Document]:
        for name in self.files:
            path = Path(name)
            if self.cut == "dialogues":
                for one in dialogues.of_file(path, _ending(path), self.column, self.lines, self.first_line):
                    yield Document(one.text, name, one)
                continue
            if _ending(path) in ROWS:
                yield from rows.documents(path, _ending(path), self.column, self.lines, self.first_line)
                continue
            for text in self._texts(path):
                if text and not text.isspace():
                    yield Document(text, name)

    def _range(self, path: Path, boundary: Callable[[BinaryIO, int, int], int]) -> tuple[int, int]:
        """From the first boundary at or after the start to the first at or after the stop: neighbours agree on both."""
        size = path.stat().st_size
        with open(path, "rb") as file:
            stop = size if self.stop < 0 else boundary(file, self.stop, size)
            return boundary(file, self.start, size), stop

    def _texts(self, path: Path) -> Iterator[str]:
        if self.cut == "line":
            for _, line in self.lines(path):
                yield line.rstrip("\r")
            return
        size = path.stat().st_size
        if self.cut == "file" or (self.cut == "auto" and self.stop < 0 and size <= WHOLE):
            yield decoded(path.read_bytes(), path, 0)
            return
        start, stop = self._range(path, _after_blank_line)
        blocks = self.cut == "paragraph"
        with open(path, "rb") as file:
            for position, piece in _pieces(file, start, stop, 1 if blocks else _piece(size), blocks):
                text = decoded(piece, path, position)
                yield text.lstrip("\r\n").rstrip() if blocks else text  # the first line keeps its indent

    def first_line(self, path: Path) -> int:
        """The number in the file of the range's first line; it costs reading all before, so only faults ask."""
        left = self._range(path, _after_newline)[0]
        number = 1
        with open(path, "rb") as file:
            while left and (block := file.read(min(left, WINDOW))):
                number, left = number + block.count(b"\n"), left - len(block)
        return number

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        """The lines of the range: the number within it, and the text without the newline."""
        start, stop = self._range(path, _after_newline)
        with open(path, "rb") as file:
            file.seek(start)
            position = start
            # iterating over a binary file cuts at \n alone, unlike str.splitlines, which also cuts at U+2028
            for number, line in enumerate(file, 1):
                if position >= stop:
                    return
                yield number, decoded(line, path, position).rstrip("\n")
                position += len(line)


def _piece(size: int) -> int:
    """About how long the documents of a large plain file are."""
    return min(PIECE, max(LEAST, size // PIECES))


def units(
    paths: Sequence[Path], documents: str = "auto", column: str = "text", unit_bytes: int = 32 * 2**20
) -> list[Unit]:
    """The files under `paths` in sorted order, grouped or cut into units of about `unit_bytes`."""
    if documents not in DOCUMENT_RULES:
        raise Fault(
            f"{documents!r} is no rule for cutting text into documents.{did_you_mean(documents, DOCUMENT_RULES)}",
            f"The rules: {', '.join(DOCUMENT_RULES)}.",
        )
    found = files(paths)
    if not any(size for _, size in found):
        raise Fault(
            f"{', '.join(str(path) for path, _ in found[:3])}{' and others' if len(found) > 3 else ''}: "
            "there is no text in it, the file is empty.",
            "Give a file that holds text.",
        )
    made: list[Unit] = []
    group: list[str] = []
    grouped = 0

    def close() -> None:
        nonlocal grouped
        if group:
            made.append(Unit(tuple(group), grouped, documents, column))
            group.clear()
            grouped = 0

    for path, size in found:
        ranged = _ending(path) == ".jsonl" or (_ending(path) not in ROWS and documents != "file")
        if ranged and size > unit_bytes:
            close()
            for start in range(0, size, unit_bytes):
                stop = min(start + unit_bytes, size)
                made.append(Unit((str(path),), stop - start, documents, column, start, stop))
            continue
        if grouped + size > unit_bytes:
            close()
        if size:
            group.append(str(path))
            grouped += size
    close()
    return made


def documents(
    paths: Sequence[Path], documents: str = "auto", column: str = "text", unit_bytes: int = 32 * 2**20
) -> Iterator[Document]:
    """Every document under `paths`, one after another."""
    empty = True
    for unit in units(paths, documents, column, unit_bytes):
        for document in unit.documents():
            empty = False
            yield document
    if empty:
        raise Fault(
            f"there is no text in {', '.join(map(str, paths))}.", "Every document in it is empty or white space."
        )


def files(paths: Sequence[Path]) -> list[tuple[Path, int]]:
    """Every readable file and its size: folders recursively, in sorted order, each file once."""
    faults: list[Fault] = []
    found: dict[Path, int] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = [file for file in _walk(path) if _ending(file) in ENDINGS]
            if not inside:
                faults.append(
                    Fault(
                        f"{path} holds no file that can be read.",
                        f"Files with these endings are read: {', '.join(ENDINGS)}.",
                    )
                )
            found.update((file, file.stat().st_size) for file in inside)
        elif not path.exists():
            beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
            faults.append(Fault(f"{path} is not there.{did_you_mean(path.name, beside)}"))
        elif _ending(path) not in ENDINGS and path.name.lower().endswith(NOT_TEXT):
            faults.append(
                Fault(
                    f"{path} is not a kind of file that is read.",
                    f"Files with these endings are: {', '.join(ENDINGS)}.",
                )
            )
        else:
            found[path] = path.stat().st_size
    if faults:
        raise Faults(faults)
    return list(found.items())


def total_bytes(paths: Sequence[Path]) -> int:
    """The size on disk of all files under `paths`."""
    return sum(size for _, size in files(paths))


def unit_size(paths: Sequence[Path]) -> int:
    """Sixteen units or more, so that all workers have work, whatever their number: what is made must not depend on it."""
    return min(max(total_bytes(paths) // 16, 2**20), 32 * 2**20)


def fingerprint(paths: Sequence[Path]) -> str:
    """Equal as long as no file is added, removed, renamed or changed: names, sizes and times, not contents."""
    digest = hashlib.blake2b(digest_size=16)
    for root in map(Path, paths):
        for path, size in files([root]):
            name = path.relative_to(root).as_posix() if path != root else path.name
            digest.update(f"{name}\0{size}\0{path.stat().st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _ending(path: Path) -> str:
    name = path.name.lower()
    return next((ending for ending in ENDINGS if name.endswith(ending)), path.suffix.lower())


def _walk(folder: Path) -> Iterator[Path]:
    for inside, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(inside, name) for name in sorted(names) if not name.startswith("."))


def _pieces(file: BinaryIO, start: int, stop: int, least: int, blocks: bool) -> Iterator[tuple[int, bytes]]:
    """The bytes from `start` to `stop` in pieces of `least` bytes or a little more, each with its position.

    `blocks`: the last piece needs no blank line behind it to be whole.
    """
    file.seek(start)
    buffer, used, position = b"", 0, start  # buffer[used:] begins at `position`
    unread = stop - start
    while unread or used < len(buffer):
        while unread and len(buffer) - used < least + WINDOW + 4:
            more = file.read(min(unread, 4 * WINDOW))
            buffer, used, unread = buffer[used:] + more, 0, unread - len(more) if more else 0
        end = _cut(buffer, used + least, to_the_end=blocks and not unread)
        yield position, buffer[used:end]
        position, used = position + end - used, end


def _cut(buffer: bytes, after: int, to_the_end: bool = False) -> int:
    """Where a document may end at or after `after`: behind a blank line, else a newline, else a whole character."""
    if after >= len(buffer):
        return len(buffer)
    window = min(after + WINDOW, len(buffer))
    if blank := _BLANK.search(buffer, max(after - 1, 0), window):
        return blank.end()
    if to_the_end and window == len(buffer):
        return window
    newline = buffer.find(b"\n", after, window)
    return newline + 1 if newline >= 0 else _character(buffer, after)


def _character(buffer: bytes, place: int) -> int:
    """The first place at or after `place` that is not inside a character."""
    while place < len(buffer) and buffer[place] & 0xC0 == 0x80:
        place += 1
    return place


def _after_blank_line(file: BinaryIO, place: int, size: int) -> int:
    if place <= 0 or place >= size:
        return min(max(place, 0), size)
    file.seek(place)
    buffer = file.read(WINDOW + 4)
    return place + _cut(buffer, 0, to_the_end=place + len(buffer) >= size)


def _after_newline(file: BinaryIO, place: int, size: int) -> int:
    if place <= 0 or place >= size:
        return min(max(place, 0), size)
    file.seek(place - 1)  # a range that begins right behind a newline begins there
    while block := file.read(WINDOW):
        newline = block.find(b"\n")
        if newline >= 0:
            return file.tell() - len(block) + newline + 1
    return size
