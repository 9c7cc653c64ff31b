"""Functions in processes of their own: started afresh, and ended when whoever started them is gone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process


def launched() -> bool:
    """Whether torchrun, or another launcher, started this process as one of several that do the same work."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ


def end_at_once() -> None:
    os._exit(1)


def process_pool(
    workers: int,
    begin: Callable[..., object] | None = None,
    given: tuple[object, ...] = (),
    orphaned: Callable[[], object] = end_at_once,
) -> ProcessPoolExecutor:
    """Processes that call `begin(*given)` first, and `orphaned()` when their parent was killed and cannot end them.

    Spawned: a forked process would inherit locks of the tokenizers library and of torch.
    """
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin, (begin, given, orphaned))


def _begin(begin: Callable[..., object] | None, given: tuple[object, ...], orphaned: Callable[[], object]) -> None:
    threading.Thread(target=_watch_parent, args=(orphaned,), daemon=True).start()
    if begin is not None:
        begin(*given)


def _watch_parent(orphaned: Callable[[], object]) -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        orphaned()
