"""Arrays in a safetensors file, written one after the other: those on disk are copied, and never all in memory."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
PIECE = 1 << 24


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """https://github.com/huggingface/safetensors: the length of a JSON header, the header, the numbers."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            _write(array, file)


def _write(array: np.ndarray, file: IO[bytes]) -> None:
    if not (isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap)):
        np.ascontiguousarray(array).tofile(file)
        return
    with open(str(array.filename), "rb") as source:  # read, not mapped: what was mapped would stay in memory
        source.seek(array.offset)
        left = array.nbytes
        while left:
            piece = source.read(min(PIECE, left))
            file.write(piece)
            left -= len(piece)
