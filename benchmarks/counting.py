"""`make bench ARGS=counting`: time and memory of Kneser-Ney of order 5 as the text grows, in bounded memory.

The text is generated: a chain of words in which more than half of all 5-grams are different, as in real text of that size
(a small text repeated would prove nothing). Each size is counted in a process of its own, so that its peak is its own.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import resident

MEGABYTES = (10.0, 100.0, 1000.0)
ORDER = 5
MEMORY = 800_000_000  # for counting; the interpreter and what a thread holds come on top
WORDS = 400_000
LANES = 4096  # documents that are written at the same time, so that numpy has something to do


def write_text(path: str, megabytes: float) -> tuple[int, float]:
    """Ids of a generated text of this size, as uint32: (tokens, bytes). A line is a document."""
    rng = np.random.default_rng(7)
    # word w is written with more letters the rarer it is, and a space follows
    lengths = 2 + np.floor(np.log(np.arange(WORDS) + 2) / np.log(6)).astype(np.int64)
    weights = 1 / (np.arange(WORDS) + 2.7)
    cumulative = np.cumsum(weights / weights.sum())
    tokens, size = 0, 0
    last = np.zeros(LANES, np.int64)
    with open(path, "wb") as file:
        while size < megabytes * 1e6:
            lines = np.empty((LANES, 128), np.uint32)
            for at in range(lines.shape[1]):
                free = np.searchsorted(cumulative, rng.random(LANES))
                # every other word is one of a few that often follow the last one
                bound = (last * 7919 + rng.geometric(0.3, LANES) * 104_729) % WORDS % (1 + free * 40)
                last = np.where(rng.random(LANES) < 0.5, free, np.minimum(bound, WORDS - 1))
                lines[:, at] = last
            lines[rng.random(lines.shape) < 0.045] = WORDS  # the end of a line
            file.write(lines.tobytes())
            tokens += lines.size
            size += int(lengths[lines[lines < WORDS]].sum()) + lines.size
    return tokens, float(size)


def count(path: str) -> dict[str, Any]:
    """Count a text and estimate all probabilities, in this process."""
    from foreword.counts.smoothed import SmoothedNGram
    from foreword.tokens.vocabulary import Vocabulary

    model = SmoothedNGram(order=ORDER).build(Vocabulary(WORDS + 1, WORDS, ()))
    model.bounded(MEMORY)
    before = resident("VmHWM")
    began, clock = time.perf_counter(), _cpu()
    with open(path, "rb") as file:
        while len(ids := np.fromfile(file, np.uint32, 1 << 20)):
            model.count(ids)
    model.estimate()
    grams = [len(table) for table in model.probability]
    return {
        "seconds": time.perf_counter() - began,
        "core_seconds": _cpu() - clock,
        "peak": resident("VmHWM"),
        "interpreter": before,
        "grams": grams,
        "tokens": len(model.read),
        "disk": sum(file.stat().st_size for file in model.scratch.path().parent.iterdir()),
    }


def _cpu() -> float:
    used = os.times()
    return used.user + used.system


def measure(megabytes: float | Sequence[float] = MEGABYTES) -> list[dict[str, Any]]:
    found = []
    for size in [megabytes] if isinstance(megabytes, (int, float)) else megabytes:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "text.ids")
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                tokens, written = pool.submit(write_text, path, size).result()
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                found.append({**pool.submit(count, path).result(), "megabytes": written / 1e6, "tokens": tokens})
    return found


def lines(found: list[dict[str, Any]]) -> Iterator[str]:
    yield f"Kneser-Ney of order {ORDER}, {MEMORY / 1e6:,.0f} MB for counting, generated text, {WORDS:,} words"
    for one in found:
        yield (
            f"  {one['megabytes']:>7,.0f} MB {one['tokens']:>13,} tokens, {one['grams'][-1] / one['tokens']:.0%} of 5-grams "
            f"different, {sum(one['grams']):>13,} n-grams"
        )
        yield (
            f"  {'':7}    {one['seconds']:>8,.1f} s, {one['core_seconds']:>8,.1f} core-seconds, "
            f"{one['core_seconds'] / one['tokens'] * 1e6:.2f} core-seconds per million tokens, "
            f"peak {one['peak'] / 1e6:,.0f} MB (of which {one['interpreter'] / 1e6:,.0f} before counting), "
            f"{one['disk'] / 1e9:.1f} GB of tables"
        )
    yield "  KenLM's lmplz is no package of PyPI; `counts` quotes a figure of it."


def report() -> str:
    return "\n".join(lines(measure()))
