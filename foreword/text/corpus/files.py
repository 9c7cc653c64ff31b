"""Files that stages are given beside the corpus: lists, samples, tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.text import reading
from foreword.text.encoding import decoded


def listed(path: Path) -> list[str]:
    """The lines of a file that are not empty."""
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    return [line.strip() for line in decoded(path.read_bytes(), path, 0).split("\n") if line.strip()]


def texts(paths: Sequence[str]) -> list[str]:
    return [document.text for document in reading.documents([Path(path) for path in paths])]


def file_state(paths: Iterable[str]) -> JsonObject:
    """Equal as long as nothing in these files or folders has changed."""
    return {"files": {path: _state(Path(path)) for path in paths}}


def _state(path: Path) -> str:
    if not path.exists():
        raise Fault(f"{path} is not there.")
    return reading.fingerprint([path])
