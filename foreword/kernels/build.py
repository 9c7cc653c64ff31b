"""C, compiled at first use for the processor it runs on, and kept in the cache folder; FOREWORD_KERNELS=off uses none of it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import multiprocessing
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from foreword.basics.files import cache_folder
from foreword.basics.messages import Fault
from foreword.basics.progress import say

FAILURES = (OSError, subprocess.SubprocessError)  # what `build` raises where it cannot be done
FLAGS = ("-O3", "-fno-tree-vectorize", "-fno-math-errno", "-shared", "-fPIC")  # vectors are written out: more hurt
SPEED = (("-march=native", "-fopenmp"), ("-mcpu=native", "-fopenmp"), ("-march=native",), ())  # the first that works
ONE_THREAD = (("-march=native",), ("-mcpu=native",), ())
TYPES = {
    "p": ctypes.c_void_p,
    "l": ctypes.c_long,
    "q": ctypes.c_int64,
    "i": ctypes.c_int,
    "f": ctypes.c_float,
    "": None,
}


def off() -> bool:
    """Whether the user wants everything from torch, numpy and the libraries."""
    said = os.environ.get("FOREWORD_KERNELS") or "on"
    if said not in ("on", "off"):
        raise Fault(f"FOREWORD_KERNELS={said}: it can be on or off.")
    return said == "off"


def library(
    source: Path, signatures: Mapping[str, str], otherwise: str, speed: Sequence[Sequence[str]] = SPEED
) -> ctypes.CDLL | None:
    """The kernels of a source for this machine. None if they are off, or cannot be made: `otherwise` is said, and why."""
    if off():
        return None
    try:
        return typed(ctypes.CDLL(str(build(source, speed=speed))), signatures)
    except FAILURES as error:
        if multiprocessing.parent_process() is None:  # who started this one has said it
            say(
                f"{otherwise}: {why(error)}\n"
                "    Install a C compiler (gcc or clang; CC=... names another), and it compiles its own in two seconds."
            )
        return None


def typed(found: ctypes.CDLL, signatures: Mapping[str, str]) -> ctypes.CDLL:
    """Each function with what it takes and returns: "pl>i" takes a pointer and a long, and returns an int."""
    for name, signature in signatures.items():
        takes, _, returns = signature.partition(">")
        function = getattr(found, name)
        function.argtypes, function.restype = [TYPES[letter] for letter in takes], TYPES[returns]
    return found


def build(source: Path, flags: Sequence[str] = FLAGS, speed: Sequence[Sequence[str]] = SPEED) -> Path:
    """The compiled library, from the cache folder if it is there. Headers beside the source count as part of it."""
    compiler = os.environ.get("CC") or next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), "")
    if not compiler:
        raise FileNotFoundError("no C compiler is here.")
    key = [compiler, _processor(), *flags, *(flag for some in speed for flag in some)]
    texts = [file.read_bytes() for file in (source, *sorted(source.parent.glob("*.h")))]
    known = hashlib.sha256(b"\0".join([*texts, *(word.encode() for word in key)]))
    path = _folder() / f"{source.stem}-{known.hexdigest()[:20]}.so"
    if path.is_file() and only_ours(path):
        return path
    for attempt, some in enumerate(speed, 1):
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")  # two processes may build at once
        try:
            subprocess.run(
                [*compiler.split(), *flags, *some, str(source), "-o", str(partial), "-lm"],
                check=True,
                capture_output=True,
                text=True,
                timeout=120,
            )
            partial.chmod(0o700)  # whatever the umask is
            os.replace(partial, path)
            return path
        except subprocess.CalledProcessError:
            if attempt == len(speed):
                raise
        finally:
            partial.unlink(missing_ok=True)
    raise ValueError("no flags to try")


def why(error: BaseException) -> str:
    """The first line of what the compiler or the system said."""
    said = getattr(error, "stderr", None) or str(error)
    return (said.strip().splitlines() or [type(error).__name__])[0]


def only_ours(path: Path) -> bool:
    """Whether it belongs to this user and nobody else can write it: what is loaded from there runs."""
    if not hasattr(os, "geteuid"):  # Windows keeps the user's folders for the user
        return True
    about = os.stat(path)
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _folder() -> Path:
    folder = cache_folder() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(folder, os.W_OK) and only_ours(folder):
            return folder
    except OSError:
        pass  # a home that cannot be written to: this process compiles for itself
    return Path(_own_folder())


@functools.cache
def _own_folder() -> str:
    return tempfile.mkdtemp(prefix="foreword-kernels-")


@functools.cache
def _processor() -> str:
    """What tells one kind of processor from another: a home folder may be shared by several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        facts = sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    except OSError:
        facts = [platform.processor()]
    return "\n".join([platform.machine(), platform.system(), *facts])
