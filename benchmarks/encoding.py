"""Text to ids: how fast a store is made, beside the `tokenizers` library alone on the same text."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

from benchmarks.limits import best_seconds
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE

MEGABYTES = 12


def report() -> str:
    text = "\n\n".join(topics.values())
    texts = [f"{i} {topic}" for i in range(MEGABYTES * 1_000_000 // len(text) + 1) for topic in topics.values()]
    size = sum(len(one.encode()) for one in texts)
    tokenizer = ByteBPE(vocabulary=8192).train(iter(topics.values()))
    alone = best_seconds(lambda: tokenizer.backend.encode_batch_fast(texts, add_special_tokens=False), repeats=2)
    lines = [f"encoding {size / 1e6:.1f} MB: the tokenizers library alone, all threads: {size / 1e6 / alone:.1f} MB/s"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "text"
        source.mkdir()
        for i, one in enumerate(texts):
            (source / f"{i:06d}.txt").write_text(one, encoding="utf-8")
        for marks in ((), ("sentence_end", "word_start")):
            for workers in (1, 2):
                began = time.perf_counter()
                build_store([source], Path(folder) / f"store-{workers}-{len(marks)}", tokenizer, marks=marks, workers=workers)
                pace = size / 1e6 / (time.perf_counter() - began)
                lines.append(f"  into a store, {workers} worker{'s' * (workers > 1)}, {'with' if marks else 'without'} marks: "
                             f"{pace:.1f} MB/s, {pace / (size / 1e6 / alone):.2f} of the library")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
