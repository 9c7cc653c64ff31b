"""`make bench ARGS=counts`: tokens per core-second of modified Kneser-Ney, beside a figure of KenLM taken earlier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import race
from benchmarks.texts import documents, wikitext
from foreword.basics.progress import say
from foreword.counts.smoothed import SmoothedNGram
from foreword.tokens.kinds import Word

MEGABYTES = 10.0
ORDER = 5
KENLM = 659_000  # lmplz -o 5 built from source, 2.08M tokens of WikiText-2 in 3.15 core-seconds, two cores AMD EPYC, 2026-11-18


def measure(megabytes: float = MEGABYTES, data: Sequence[Path] = (), rounds: int = 3) -> dict[str, Any]:
    articles = None if data else wikitext()
    texts = articles or documents(megabytes, data)
    tokenizer = Word(minimum=1).train(iter(texts))
    vocabulary = tokenizer.vocabulary()

    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    say(f"bench counts, {size / 1e6:.1f} MB, {vocabulary.size:,} words")
    stream = np.zeros(0, np.int64)

    def ids() -> None:
        nonlocal stream
        rows = tokenizer.encode_many(texts)
        stream = np.concatenate([part for row in rows for part in (row, [vocabulary.end])])

    def learn() -> None:
        model = SmoothedNGram(order=ORDER).build(vocabulary)
        model.count(stream)
        model.estimate()

    times = race({"words to ids": ids, f"Kneser-Ney {ORDER}, from ids": learn}, rounds, 0.0)
    found = {
        name: {
            "per_core_second": len(stream) / one.core,
            "per_core_second_median": len(stream) / one.core_median,
            "core_seconds": one.core,
            "first_core_seconds": one.first_core,
        }
        for name, one in times.items()
    }
    return {
        "text": "WikiText-2" if articles else "your text" if data else "documentation found here, repeated",
        "megabytes": size / 1e6,
        "tokens": len(stream),
        "vocabulary": vocabulary.size,
        "order": ORDER,
        "candidates": found,
        "both_at_first": len(stream) / sum(one.first_core for one in times.values()),
        "kenlm_quoted": KENLM,
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{found['text']}: {found['megabytes']:.1f} MB, {found['tokens']:,} tokens, {found['vocabulary']:,} words, "
        f"order {found['order']}"
    )
    for name, one in found["candidates"].items():
        yield (
            f"  {name:28} {one['per_core_second']:>9,.0f} tokens per core-second best "
            f"{one['per_core_second_median']:>9,.0f} median   {one['core_seconds']:.2f} core-seconds"
        )
    yield (
        f"  {'both, first call':28} {found['both_at_first']:>9,.0f} tokens per core-second: what one run of a program pays, "
        "its memory still untouched"
    )
    yield (
        f"  quoted, not run here: KenLM's lmplz, {found['kenlm_quoted']:,} tokens per core-second on WikiText-2, "
        "on another machine; it reads the file and writes an ARPA file as well"
    )
