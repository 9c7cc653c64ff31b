"""`make bench ARGS=tokens`: text to ids in megabytes per core-second, beside the libraries alone on the same text."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.race import Work, race
from benchmarks.texts import documents, first, size_of
from foreword.basics.progress import say
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.page import Page
from foreword.tokens.quick import compiled_encoder, tiktoken_encoder
from foreword.tokens.tokenizer import Tokenizer

MEGABYTES = 80.0
ALONE = 8.0  # megabytes for the encoders alone: the slowest takes seconds for these
LEARNED = 4.0  # megabytes from which the tokenizer is learned: what is measured is encoding
VOCABULARY = 8192
GOAL = 8.0  # megabytes per core-second into the store


@dataclass(frozen=True)
class Candidate:
    work: Work
    megabytes: float


def measure(
    megabytes: float = MEGABYTES,
    data: Sequence[Path] = (),
    rounds: int = 2,
    workers: Sequence[int] = (1, 2),
    vocabulary: int = VOCABULARY,
) -> dict[str, Any]:
    texts = documents(megabytes, data)
    say(f"bench tokens, {_megabytes(texts):.1f} MB in {len(texts):,} documents")
    tokenizer = ByteBPE(vocabulary=vocabulary).train(iter(first(texts, LEARNED)))
    with tempfile.TemporaryDirectory() as folder:
        found = {**alone(first(texts, ALONE), tokenizer), **into_stores(texts, tokenizer, Path(folder), workers)}
        times = race({name: one.work for name, one in found.items()}, rounds, 0.0)
    rates = {
        name: {
            "megabytes": size,
            "per_core_second": size / one.core,
            "per_core_second_median": size / one.core_median,
            "per_second": size / one.best,
            "per_second_median": size / one.median,
        }
        for name, one in times.items()
        for size in (found[name].megabytes,)
    }
    return {
        "megabytes": _megabytes(texts),
        "documents": len(texts),
        "tokenizer": tokenizer.name,
        "goal": GOAL,
        "candidates": rates,
    }


def alone(texts: list[str], tokenizer: Tokenizer) -> dict[str, Candidate]:
    """Encoders without reading, marking or writing; into arrays, as we need them."""
    page, content = Page.of(texts), json.loads(tokenizer.backend.to_str())
    found: dict[str, Work] = {}
    for name, make in (("ours alone", compiled_encoder), ("tiktoken alone", tiktoken_encoder)):
        if (encode := make(tokenizer.backend, content)) is not None:
            found[name] = lambda encode=encode: encode(page)  # type: ignore[misc]
    found["tokenizers alone"] = lambda: tokenizer.backend.encode_batch_fast(texts, add_special_tokens=False)
    return {name: Candidate(work, _megabytes(texts)) for name, work in found.items()}


def into_stores(texts: list[str], tokenizer: Tokenizer, folder: Path, workers: Sequence[int]) -> dict[str, Candidate]:
    source = folder / "text.jsonl"
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    number = count()

    def store(processes: int, marks: tuple[str, ...]) -> None:
        out = folder / f"store-{next(number)}"
        build_store([source], out, tokenizer, fractions=(1.0, 0.0, 0.0), marks=marks, workers=processes)
        shutil.rmtree(out)

    found = {}
    for marks in ((), ("sentence_end", "word_start")):
        for processes in workers:
            name = f"into a store, {processes} worker{'s' * (processes > 1)}, {'with' if marks else 'without'} marks"
            found[name] = Candidate(
                lambda processes=processes, marks=marks: store(processes, marks),  # type: ignore[misc]
                _megabytes(texts),
            )
    return found


def lines(found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{found['megabytes']:.1f} MB in {found['documents']:,} documents, {found['tokenizer']}; "
        f"goal: {found['goal']:.0f} MB per core-second into the store, linear in workers"
    )
    for name, one in found["candidates"].items():
        yield (
            f"  {name:40} {one['per_core_second']:>6.1f} MB per core-second best "
            f"{one['per_core_second_median']:>6.1f} median   "
            f"{one['per_second']:>6.1f} MB/s best {one['per_second_median']:>6.1f} median   of {one['megabytes']:.0f} MB"
        )


def _megabytes(texts: Sequence[str]) -> float:
    return size_of(texts) / 1e6
