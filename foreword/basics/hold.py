"""One writer at a time: a folder is held by the process that writes it, which says who it is; with its end it lets go."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from foreword.basics.files import JsonObject, disk_fault, parse_json, writes
from foreword.basics.messages import Fault
from foreword.basics.progress import say

NAME = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """`folder` is this process's to write. The system lets go of the lock when its process dies, however it dies."""
    if not writes(folder):  # another process of the same training writes, and holds it
        yield
        return
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    handle = _take(folder / NAME)
    try:
        yield
    finally:
        (folder / NAME).unlink(missing_ok=True)
        os.close(handle)
        if made and not any(folder.iterdir()):
            folder.rmdir()


def _take(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _locked(handle):
            owner = _owner(handle)
            os.close(handle)
            raise _taken(path, owner)
        try:
            same = os.path.sameopenfile(handle, here) if (here := _opened(path)) >= 0 else False
        finally:
            if here >= 0:
                os.close(here)
        if same:
            break
        os.close(handle)  # whoever held it has just removed it: what was locked is no longer there
    before = _owner(handle)
    if before and before.get("host") != socket.gethostname():  # locks are not seen across every network file system
        os.close(handle)
        raise _taken(path, before)
    if before:
        say(f"{path.parent}: process {before.get('pid')}, which wrote it, is gone; taken over.")
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode(), 0)
    except OSError as error:
        path.unlink(missing_ok=True)
        os.close(handle)
        raise disk_fault(error, path) from error
    return handle


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return -1


def _locked(handle: int) -> bool:
    """Whether it could be locked now."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(handle: int) -> JsonObject:
    """What the file says; nothing if who wrote it was killed before."""
    try:
        said = parse_json(os.pread(handle, 4096, 0))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _taken(path: Path, owner: JsonObject) -> Fault:
    who = f"process {owner.get('pid', '?')} on {owner.get('host', '?')} since {owner.get('since', '?')}"
    return Fault(
        f"{path.parent} is being written by {who}.",
        f"Wait for it, or choose another --out. If it is gone for certain, remove {path}.",
    )
