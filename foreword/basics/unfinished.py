"""What is being made and not yet whole: finished shards are kept beside the output, and the same command goes on from there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from foreword.basics.files import read_json, write_json
from foreword.basics.messages import Fault, RunFailed
from foreword.basics.progress import say, ticking
from foreword.basics.shards import Pool

Shard = TypeVar("Shard")


def settings_key(settings: dict[str, object]) -> str:
    """Equal as long as all settings are: text that was cut differently, or other text, is other work."""
    return hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()


class Unfinished:
    """The folder `<out>.partial`, kept if it is for the same settings, and held by one process at a time."""

    def __init__(self, out: Path, key: str):
        self.folder, self.key, self.handle = out.with_name(f"{out.name}.partial"), key, -1

    def __enter__(self) -> Unfinished:
        plan = self.folder / "plan.json"
        same = plan.is_file() and read_json(plan).get("settings") == self.key
        self.folder.mkdir(parents=True, exist_ok=True)
        self._hold()
        if not same:
            for inside in self.folder.iterdir():
                shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
            write_json(plan, {"settings": self.key})
        self._sweep()
        done = len(list(self.folder.glob("done/*.json")))
        if done:
            say(f"{self.folder}: {done} finished part{'s' if done > 1 else ''} found; going on from there.")
        return self

    def _sweep(self) -> None:
        """Remove what whoever was killed had only half written."""
        for half_written in self.folder.rglob(".*.partial"):
            half_written.unlink()

    def _hold(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        self.handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self.handle)
            raise Fault(
                f"another process is making {self.folder} now.", "Wait for it, or give another --out."
            ) from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Fault) and not isinstance(error, RunFailed):
            shutil.rmtree(self.folder)  # once the text or the settings are put right, it is of no use
        if self.handle >= 0:
            os.close(self.handle)

    def map(
        self,
        pool: Pool,
        stage: str,
        function: Callable[[Shard], Any],
        shards: Sequence[Shard],
        sizes: Sequence[int] | None = None,
        here: bool = False,
    ) -> list[Any]:
        """The records of all shards, in order: JSON values, read where an earlier run has written them, and made otherwise.

        `sizes` are for the progress bar; what is too large for a record, the function writes into this folder itself.
        """
        places = [self.folder / "done" / f"{stage}-{number:05d}.json" for number in range(len(shards))]
        left = [number for number, place in enumerate(places) if not place.is_file()]
        sizes = sizes or [1] * len(shards)
        whole = max(1, sum(sizes))
        finished = whole - sum(sizes[number] for number in left)
        work = [(places[number], shards[number]) for number in left]
        began, before = time.monotonic(), finished
        with ticking(stage) as ticker:
            made = pool.map(ShardRecorder(self.folder, function), work, here or len(left) <= 1)
            for done, (_, number) in enumerate(zip(made, left), 1 + len(shards) - len(left)):
                finished += sizes[number]
                rate = (finished - before) / max(time.monotonic() - began, 1e-3)
                speed = f", {rate / 1e6:.1f} MB/s" if whole > len(shards) else ""  # sizes are bytes
                ticker.update(finished / whole, f"{done} of {len(shards)} parts{speed}")
        self._sweep()
        return [read_json(place) for place in places]


@dataclass(frozen=True)
class ShardRecorder(Generic[Shard]):
    """Notes the result of a shard once all it has written is there."""

    folder: Path
    function: Callable[[Shard], Any]

    def __call__(self, work: tuple[Path, Shard]) -> None:
        place, shard = work
        if not self.folder.is_dir():
            raise RunFailed(
                f"{socket.gethostname()} does not have the folder {self.folder}.",
                "Text and output have to be in a folder that every machine of the cluster has under the same path.",
            )
        write_json(place, self.function(shard))
