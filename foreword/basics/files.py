"""Files that are either whole or not there: write to a temporary name, sync, rename."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.basics.messages import Fault, RunFailed

if TYPE_CHECKING:
    import numpy as np

JsonObject = dict[str, Any]  # what a JSON or TOML file holds, as far as no type of its own says more


_others: list[Path] = []  # folders that another process writes


def leave_to_another(folder: Path) -> None:
    """From here on this process writes and removes nothing in this folder: another one, which does the same work, does."""
    _others.append(Path(folder).resolve())


def writes(path: Path) -> bool:
    """Whether it is for this process to write there."""
    return not any(Path(path).resolve().is_relative_to(folder) for folder in _others)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """`write` fills a temporary file beside `path`; only a complete one takes the name."""
    if not writes(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # a name of its own: on a cluster, processes of several machines may have the same number
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        write(partial)
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise _disk(error, path) from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_json_lines(path: Path, rows: Iterable[object]) -> None:
    """One to a line, written as they come."""

    def write(partial: Path) -> None:
        with open(partial, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    write_atomically(path, write)


def write_array(path: Path, array: np.ndarray) -> None:
    def write(partial: Path) -> None:
        import numpy as np

        with open(partial, "wb") as file:  # given a name, np.save would add .npy to it
            np.save(file, array)

    write_atomically(path, write)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Fault(f"{path} is not there.") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Fault(f"{path} is not valid JSON: {error}.", "It may have been cut short; write it again.") from error


def append_line(path: Path, line: str) -> None:
    if writes(path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def remove_folder(path: Path) -> None:
    if writes(path):
        shutil.rmtree(path, ignore_errors=True)


def write_folder(path: Path, write: Callable[[Path], object]) -> None:
    """Like `write_atomically`, for a whole folder: an older folder of that name is replaced in one rename."""
    if not writes(path):
        return
    partial = partial_folder(path)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        write(partial)
        complete_folder(path)
    except OSError as error:
        raise _disk(error, path) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def partial_folder(path: Path) -> Path:
    """Where a folder is written before it is whole."""
    return path.with_name(f".{path.name}.partial")


def complete_folder(path: Path) -> None:
    """What was written into the partial folder takes the place of `path`."""
    partial, former = partial_folder(path), path.with_name(f".{path.name}.former")
    for file in partial.rglob("*"):
        if file.is_file():
            with open(file, "rb+") as opened:
                os.fsync(opened.fileno())
    shutil.rmtree(former, ignore_errors=True)
    if path.exists():
        os.rename(path, former)
    os.rename(partial, path)
    shutil.rmtree(former, ignore_errors=True)


def whole_folder(path: Path) -> Path:
    """`path`, brought back first if a kill struck between the two renames of `write_folder`."""
    former = path.with_name(f".{path.name}.former")
    if not path.exists() and former.exists() and writes(path):
        os.rename(former, path)
    return path


def _disk(error: OSError, path: Path) -> Fault:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, None):  # None: numpy wrote less than it was asked to
        free = shutil.disk_usage(path.parent).free
        return RunFailed(
            f"The disk is full: {path} could not be written ({free / 1e6:.0f} MB free).",
            "What was written before is whole. Free some space and give the same command again; it goes on from there.",
        )
    return RunFailed(f"{path} could not be written: {error.strerror}.")


def cache_folder() -> Path:
    """Where things are kept that can be made again: stores of given text, compiled kernels, facts about the machine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foreword"
