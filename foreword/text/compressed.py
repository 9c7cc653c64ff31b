"""Lines of compressed files, .gz and .zst, as they are unpacked. A file that was cut short is a fault, not a shorter file."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.text.encoding import decoded

BLOCK = 2**20


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The number of each line, from 1, and its text without the newline."""
    position = 0
    with open(path, "rb") as file:
        if path.name.lower().endswith(".gz"):
            stream: BinaryIO = gzip.GzipFile(fileobj=file)  # type: ignore[assignment]
            broken: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, zlib.error)
        else:
            library = extra("zstandard", path)
            stream = io.BufferedReader(Unpacked(file, library), BLOCK)
            broken = (EOFError, library.ZstdError)
        try:
            for number, line in enumerate(stream, 1):
                yield number, decoded(line, path, position).rstrip("\n")
                position += len(line)
        except broken as error:
            raise Fault(
                f"the compressed data is broken after {position:,} bytes of text "
                f"({file.tell():,} of the {path.stat().st_size:,} bytes in the file were read): {error}.",
                "It may have been cut short; copy the file again.",
                where=str(path),
            ) from error


class Unpacked(io.RawIOBase):
    """A .zst file unpacked. The library's own reader takes the end of the file for the end of the data, whole or not."""

    def __init__(self, file: BinaryIO, library: Any):
        self.file, self.ready = file, b""
        # Reddit's dumps are written with a window of 2 GB, which the library refuses by default
        self.fresh = library.ZstdDecompressor(max_window_size=2**31).decompressobj
        self.frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            left = self.frame.unused_data if self.frame is not None and self.frame.eof else b""
            block = left or self.file.read(BLOCK // 16)  # some text packs to a thousandth
            if not block:
                if self.frame is not None and not self.frame.eof:
                    raise EOFError("the file ends in the middle")
                return 0
            if self.frame is None or self.frame.eof:  # several frames may follow each other
                self.frame = self.fresh()
            self.ready = self.frame.decompress(block)
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


def extra(module: str, path: Path) -> Any:
    """A package that only some kinds of file need."""
    return needed(module, "data", f"{path} needs")
