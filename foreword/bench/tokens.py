"""`foreword bench tokens`: text to ids in megabytes per core-second, beside the libraries alone on the same text."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from foreword.basics.progress import say
from foreword.bench.race import Work, race
from foreword.bench.texts import documents
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.quick import quick_encoder
from foreword.tokens.tokenizer import Tokenizer

MEGABYTES = 40.0
LEARNED = 4.0          # megabytes from which the tokenizer is learned: what is measured is encoding
VOCABULARY = 8192
GOAL = 8.0             # megabytes per core-second into the store


def measure(megabytes: float = MEGABYTES, data: Sequence[Path] = (), rounds: int = 2, workers: Sequence[int] = (1, 2),
            vocabulary: int = VOCABULARY) -> dict[str, Any]:
    texts = documents(megabytes, data)
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    say(f"bench tokens, {size / 1e6:.1f} MB in {len(texts):,} documents")
    tokenizer = ByteBPE(vocabulary=vocabulary).train(iter(documents(min(megabytes, LEARNED), data)))
    with tempfile.TemporaryDirectory() as folder:
        times = race(candidates(texts, tokenizer, Path(folder), workers), rounds, 0.0)
    found = {name: {"per_core_second": size / 1e6 / one.core, "per_core_second_median": size / 1e6 / one.core_median,
                    "per_second": size / 1e6 / one.best, "per_second_median": size / 1e6 / one.median}
             for name, one in times.items()}
    return {"megabytes": size / 1e6, "documents": len(texts), "tokenizer": tokenizer.name, "goal": GOAL, "candidates": found}


def candidates(texts: list[str], tokenizer: Tokenizer, folder: Path, workers: Sequence[int]) -> dict[str, Work]:
    found: dict[str, Work] = {}
    quick = quick_encoder(tokenizer.backend)
    if quick is not None:
        # into arrays, as we need them; a list of numbers would take it longer
        found["tiktoken alone"] = lambda: [quick(text) for text in texts]
    found["tokenizers alone"] = lambda: tokenizer.backend.encode_batch_fast(texts, add_special_tokens=False)
    source = folder / "text.jsonl"
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    number = count()

    def store(processes: int, marks: tuple[str, ...]) -> None:
        out = folder / f"store-{next(number)}"
        build_store([source], out, tokenizer, fractions=(1.0, 0.0, 0.0), marks=marks, workers=processes)
        shutil.rmtree(out)

    for marks in ((), ("sentence_end", "word_start")):
        for processes in workers:
            name = f"into a store, {processes} worker{'s' * (processes > 1)}, {'with' if marks else 'without'} marks"
            found[name] = lambda processes=processes, marks=marks: store(processes, marks)      # type: ignore[misc]
    return found


def lines(found: dict[str, Any]) -> Iterator[str]:
    yield (f"{found['megabytes']:.1f} MB in {found['documents']:,} documents, {found['tokenizer']}; "
           f"goal: {found['goal']:.0f} MB per core-second into the store, linear in workers")
    for name, one in found["candidates"].items():
        yield (f"  {name:40} {one['per_core_second']:>6.1f} MB per core-second best "
               f"{one['per_core_second_median']:>6.1f} median   "
               f"{one['per_second']:>6.1f} MB/s best {one['per_second_median']:>6.1f} median")
