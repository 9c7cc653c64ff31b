"""`make bench ARGS=cooccurrence`: pairs of words counted, beside scipy's sparse matrices; and GloVe's loop, beside numpy.

Each candidate works in a process of its own, so that its peak of memory is its own. The text is generated: words by Zipf's law.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.race import resident

TOKENS, WORDS, WINDOW, WIDTH = 4_000_000, 30_000, 10, 100
MEMORY = 200_000_000


def text(tokens: int = TOKENS) -> np.ndarray:
    draw = np.random.default_rng(0)
    ids = np.minimum(draw.zipf(1.15, tokens) - 1, WORDS - 1)
    ids[draw.random(tokens) < 0.01] = WORDS  # borders
    return ids.astype(np.uint16)


def ours(ids: np.ndarray, memory: int | None) -> int:
    from foreword.basics.columns import Scratch
    from foreword.vectors.cooccurrence import CooccurrenceWindow, count_pairs

    keys, _ = count_pairs(Scratch(memory).column(np.uint16).append(ids), CooccurrenceWindow(window=WINDOW), WORDS)
    return len(keys)


def scipys(ids: np.ndarray) -> int:
    """A matrix for each distance, added up."""
    from scipy.sparse import coo_array, csr_array

    ids = ids.astype(np.int64)
    passage, found = np.cumsum(ids == WORDS), csr_array((WORDS, WORDS), dtype=np.int64)
    for apart in range(1, WINDOW + 1):
        one, other = ids[:-apart], ids[apart:]
        near = (one != WORDS) & (other != WORDS) & (passage[:-apart] == passage[apart:])
        low, high = np.minimum(one, other)[near], np.maximum(one, other)[near]
        found = found + coo_array((np.ones(len(low), np.int64), (low, high)), shape=(WORDS, WORDS)).tocsr()
    return int(found.nnz)


def fitted(threads: int) -> tuple[int, float]:
    """(entries, seconds) of the C loop."""
    from foreword.kernels.glove import Entries, fit
    from foreword.tokens.vocabulary import Vocabulary
    from foreword.vectors.glove import GloveSpec

    made, draw, number = GloveSpec(width=WIDTH).build(Vocabulary(WORDS, 0, ())), np.random.default_rng(0), 4_000_000
    made.begin(0)
    words, others = (np.minimum(draw.zipf(1.3, number) - 1, WORDS - 1).astype(np.int32) for _ in range(2))
    counts = draw.gamma(1.0, 5.0, number).astype(np.float32) + 0.1
    entries = Entries(words, others, np.log(counts), np.minimum(1, counts / 10).astype(np.float32))
    fit(made.fitted, Entries(*(part[:1000] for part in vars(entries).values())), 0.05)  # compiled, and pages touched
    began = time.perf_counter()
    fit(made.fitted, entries, 0.05, threads)
    return number, time.perf_counter() - began


def fitted_by_numpy() -> tuple[int, float]:
    """The usual way in numpy: batches of entries, gradients gathered by np.add.at."""
    draw, number, batch = np.random.default_rng(0), 100_000, 10_000
    own, outputs = (draw.standard_normal((WORDS, WIDTH)).astype(np.float32) * 0.01 for _ in range(2))
    squares = [np.ones_like(own), np.ones_like(own)]
    words, others = (np.minimum(draw.zipf(1.3, number) - 1, WORDS - 1) for _ in range(2))
    logs = np.log(draw.gamma(1.0, 5.0, number) + 0.1).astype(np.float32)
    began = time.perf_counter()
    for at in range(0, number, batch):
        i, j, log = words[at : at + batch], others[at : at + batch], logs[at : at + batch]
        step = 0.0005 * ((own[i] * outputs[j]).sum(1) - log)[:, None]
        changes = (step * outputs[j], step * own[i])
        for part, square, rows, change in zip((own, outputs), squares, (i, j), changes):
            np.add.at(part, rows, -change / np.sqrt(square[rows]))
            np.add.at(square, rows, change**2)
    return number, time.perf_counter() - began


def alone(work: Callable[..., Any], *given: Any) -> tuple[Any, float, int]:
    """(what it returns, seconds, peak of memory beyond that of the interpreter) in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_timed, work, *given).result()


def _timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float, int]:
    before, began = resident("VmHWM"), time.perf_counter()
    found = work(*given)
    return found, time.perf_counter() - began, resident("VmHWM") - before


def report() -> str:
    lines = [f"co-occurrences of {TOKENS:,} generated words, window {WINDOW}"]
    for name, work, *given in (
        ("all in memory", ours, text(), None),
        (f"{MEMORY // 10**6} MB, sorted runs merged", ours, text(), MEMORY),
        ("scipy.sparse, a matrix for each distance", scipys, text()),
    ):
        pairs, seconds, peak = alone(work, *given)
        lines.append(f"  {name:<42} {TOKENS / seconds:>12,.0f} words/s  peak {peak / 1e6:>7,.0f} MB  {pairs:,} pairs")
    lines.append(f"GloVe, {WIDTH} dimensions, {WORDS:,} words")
    for name, work, *given in (
        ("C, one thread", fitted, 1),
        ("C, two threads", fitted, 2),
        ("numpy, batches of 10,000 and np.add.at", fitted_by_numpy),
    ):
        (entries, seconds), _, peak = alone(work, *given)
        lines.append(f"  {name:<42} {entries / seconds:>12,.0f} entries/s  peak {peak / 1e6:>5,.0f} MB")
    return "\n".join(lines)
