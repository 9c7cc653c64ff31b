"""Processes of one gloo group for tests: forked, since everything they need is already imported."""

from __future__ import annotations

import os
import pickle
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist

from foreword.basics import progress

TIMEOUT = 300.0  # seconds after which what hangs is killed


def on_ranks(world: int, work: Callable[[int], Any], folder: Path) -> list[Any]:
    """What `work(rank)` returns on each of so many processes of a group."""
    folder.mkdir(parents=True, exist_ok=True)
    children = [_forked(rank, world, work, folder) for rank in range(world)]
    late = time.monotonic() + TIMEOUT
    left = set(children)
    while left and time.monotonic() < late:
        left = {child for child in left if os.waitpid(child, os.WNOHANG)[0] == 0}
        time.sleep(0.005)
    for child in left:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    found = [pickle.loads((folder / f"{rank}").read_bytes()) if (folder / f"{rank}").exists() else "ended without a word"
             for rank in range(world)]  # fmt: skip
    if failed := [f"rank {rank}:\n{one}" for rank, one in enumerate(found) if isinstance(one, str)]:
        raise AssertionError("\n".join(failed))
    return [one[0] for one in found]


def _forked(rank: int, world: int, work: Callable[[int], Any], folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    warnings.simplefilter("ignore")
    progress.silence()
    try:
        store = dist.FileStore(str(folder / "store"), world)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
        found: Any = (work(rank),)
    except BaseException:  # noqa: BLE001  it must not go on as a second pytest
        found = traceback.format_exc()
    (folder / f".{rank}").write_bytes(pickle.dumps(found))
    os.rename(folder / f".{rank}", folder / f"{rank}")
    os._exit(0)
