"""Kill a child before its n-th operation on files, for every n: what a power cut or SIGKILL can leave behind."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPERATIONS = ("replace", "rename", "fsync", "unlink", "remove", "mkdir", "rmdir", "link")


def _counted(last: int, counter: Callable[[int], object]) -> None:
    """From now on, this process kills itself before its `last`-th operation; `counter` is told of each."""
    done = 0

    def before() -> None:
        nonlocal done
        done += 1
        counter(done)
        if done == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*given: Any, **named: Any) -> Any:
            before()
            return real(*given, **named)

        return operation

    for name in OPERATIONS:
        setattr(os, name, around(getattr(os, name)))


def killed_at(work: Callable[[], object], last: int) -> tuple[int, bool, str]:
    """(operations done, whether it was killed, what went wrong otherwise) of `work` in a child; 0 kills at none."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        sys.stdout = sys.stderr = io.StringIO()
        code = 0
        try:
            _counted(last, lambda done: os.write(write, b"."))
            work()
        except BaseException as error:  # noqa: BLE001  the child ends here, whatever it was
            os.write(write, f"{type(error).__name__}: {error}".encode().replace(b".", b","))
            code = 1
        finally:
            os._exit(code)
    os.close(write)
    said = b""
    while block := os.read(read, 65536):
        said += block
    os.close(read)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return said.count(b"."), killed, said.replace(b".", b"").decode(errors="replace")


def kill_everywhere(
    work: Callable[[Path], object], same: Callable[[Path], object], place: Path, every: int = 1
) -> tuple[int, list[str]]:
    """(kill points tried, what remained wrong). After each kill the same work is done again, and must come to the same end."""
    whole = place / "whole"
    operations, killed, said = killed_at(lambda: work(whole), 0)
    assert not killed, said
    assert not said, said
    wanted, faults, tried = same(whole), [], 0
    for last in range(1, operations + 1, every):
        folder = place / f"killed-{last}"
        _, killed, _ = killed_at(lambda folder=folder: work(folder), last)  # type: ignore[misc]
        tried += killed
        _, _, wrong = killed_at(lambda folder=folder: work(folder), 0)  # type: ignore[misc]
        scraps = [str(path.relative_to(folder)) for path in folder.rglob("*") if is_scrap(path)]
        scraps += [
            path.name for path in place.iterdir() if is_scrap(path) and path.name.strip(".").startswith(folder.name)
        ]
        if scraps or same(folder) != wanted:  # what was already whole may say so
            faults.append(f"before operation {last}: {scraps or wrong or 'another end'}")
        for left in place.glob(f"*killed-{last}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return tried, faults


def is_scrap(path: Path) -> bool:
    return path.name.endswith((".partial", ".former")) or path.name == ".lock"
