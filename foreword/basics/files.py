"""Files that are either whole or not there: write to a temporary name, sync, rename."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, RunFailed

JsonObject = dict[str, Any]  # what a JSON or TOML file holds, as far as no type of its own says more


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """`write` fills a temporary file beside `path`; only a complete one takes the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
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


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Fault(f"{path} is not there.") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Fault(f"{path} is not valid JSON: {error}.", "It may have been cut short; write it again.") from error


def write_folder(path: Path, write: Callable[[Path], object]) -> None:
    """Like `write_atomically`, for a whole folder: an older folder of that name is replaced in one rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        write(partial)
        for file in partial.rglob("*"):
            if file.is_file():
                with open(file, "rb+") as opened:
                    os.fsync(opened.fileno())
        former = path.with_name(f".{path.name}.former")
        shutil.rmtree(former, ignore_errors=True)
        if path.exists():
            os.rename(path, former)
        os.rename(partial, path)
        shutil.rmtree(former, ignore_errors=True)
    except OSError as error:
        raise _disk(error, path) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def whole_folder(path: Path) -> Path:
    """`path`, brought back first if a kill struck between the two renames of `write_folder`."""
    former = path.with_name(f".{path.name}.former")
    if not path.exists() and former.exists():
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
