"""Files that are either whole or not there: write to a temporary name, sync, rename."""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import shutil
import socket
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.basics.messages import Fault, RunFailed

if TYPE_CHECKING:
    import numpy as np

JsonObject = dict[str, Any]  # what a JSON or TOML file holds, as far as no type of its own says more


_HOST = hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()  # short, and without dots
_others: list[Path] = []  # folders that another process writes


def leave_to_another(folder: Path) -> None:
    """From here on this process writes and removes nothing in this folder: another one, which does the same work, does."""
    _others.append(Path(folder).resolve())


def writes(path: Path) -> bool:
    """Whether it is for this process to write there."""
    return not any(Path(path).resolve().is_relative_to(folder) for folder in _others)


def write_atomically(path: Path, write: Callable[[Path], object], tidy: bool = True) -> None:
    """`write` fills a temporary file beside `path`; only a complete one takes the name.

    `tidy`: half-written ones go, if who wrote them was killed (not where thousands of files are written, and swept later).
    """
    if not writes(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if tidy:
        _tidy(path)
    # a name of its own: on a cluster, processes of several machines may have the same number
    partial = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.{uuid.uuid4().hex[:12]}.partial")
    try:
        write(partial)
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise disk_fault(error, path) from error
    finally:
        partial.unlink(missing_ok=True)


def _tidy(path: Path) -> None:
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.{_HOST}.*.partial"):
        number = leftover.name.split(".")[-3]
        if number.isdigit() and not _alive(int(number)):
            leftover.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


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

    write_atomically(path, write, tidy=False)


UNREADABLE = (RecursionError, ValueError)  # what Python's readers of JSON and TOML raise for well-formed text


def nested_or_long(error: BaseException) -> str:
    """What is wrong with text that is well-formed and still cannot be read."""
    return "it is nested too deep" if isinstance(error, RecursionError) else "a number in it has thousands of digits"


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says; whatever is wrong with it is a JSONDecodeError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except UNREADABLE as error:
        if isinstance(error, UnicodeDecodeError):
            raise
        raise json.JSONDecodeError(nested_or_long(error), "", 0) from error


def read_json(path: Path) -> Any:
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Fault(f"{path} is not there.") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Fault(f"{path} is not valid JSON: {error}.", "It may have been cut short; write it again.") from error


def read_json_object(path: Path, *known: str) -> JsonObject:
    """The same of a file that holds one object, and in it at least these names."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise Fault(
            f"{path} holds a JSON {json_kind(value)}, not an object.", "It is another file, or was overwritten."
        )
    if missing := [name for name in known if name not in value]:
        raise Fault(f"{path} does not say its {', '.join(missing)}.", "It is another file, or was overwritten.")
    return value


def inside(value: Any, *names: str) -> Any:
    """What stands under a name of a name of it ...; None where there is nothing, or something else than an object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def read_json_lines(path: Path) -> list[JsonObject]:
    """One object to a line."""
    try:
        found = [parse_json(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Fault(f"{path} is damaged: {error}.", "It may have been cut short; write it again.") from error
    if strange := next((one for one in found if not isinstance(one, dict)), None):
        raise Fault(f"{path} holds a JSON {json_kind(strange)} where each line is an object.")
    return found


def json_kind(value: Any) -> str:
    """What JSON calls it."""
    names = {dict: "object", list: "list", str: "text", bool: "truth value", int: "number", float: "number"}
    return names.get(type(value), "null")


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
        raise disk_fault(error, path) from error
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


def disk_fault(error: OSError, path: Path) -> Fault:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, None):  # None: numpy wrote less than it was asked to
        free = shutil.disk_usage(path.parent).free
        return RunFailed(
            f"The disk is full: {path} could not be written ({free / 1e6:.0f} MB free).",
            "What was written before is whole. Free some space and give the same command again; it goes on from there.",
        )
    return RunFailed(f"{path} could not be written: {error.strerror}.")


def is_partial(name: str) -> bool:
    """Whether a file or folder was being written and is not whole."""
    return name.startswith(".") and name.endswith(".partial")


def sweep(folder: Path) -> None:
    """Put right what a kill left in a folder that only this process writes: half-written files go, former folders come back."""
    for leftover in list(folder.rglob(".*.partial")):
        shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    for former in list(folder.rglob(".*.former")):
        whole_folder(former.with_name(former.name[1:].removesuffix(".former")))
        shutil.rmtree(former, ignore_errors=True)


def cache_folder() -> Path:
    """Where things are kept that can be made again: stores of given text, compiled kernels, facts about the machine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foreword"
