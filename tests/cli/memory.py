"""The most memory that `foreword tokens` and its workers hold together."""

from __future__ import annotations

import random
import string
import time
from pathlib import Path

import psutil

from tests.cli.program import Program


def write_varied(path: Path, megabytes: int) -> Path:
    """Lines of words that never repeat as lines, from 50,000 made-up words."""
    chance = random.Random(megabytes)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(50_000)]
    written = 0
    with open(path, "w", encoding="ascii") as file:
        while written < megabytes * 1_000_000:
            written += file.write("".join(" ".join(chance.choices(words, k=60)) + "\n\n" for _ in range(100)))
    return path


def peak_of_tokens(folder: Path, megabytes: int, tokenizer: str | Path) -> int:
    """Bytes of memory that are not shared, of the process and its workers, at the worst moment seen."""
    data = write_varied(folder / f"{megabytes}.txt", megabytes)
    started = Program("tokens", data, "--tokenizer", tokenizer, "--workers", 2, "--out", folder / f"store-{megabytes}")
    parent, most = psutil.Process(started.process.pid), 0
    while started.process.poll() is None:
        total = 0
        try:
            for process in [parent, *parent.children(recursive=True)]:
                memory = process.memory_info()
                total += memory.rss - memory.shared  # mapped files and libraries count for nothing
        except psutil.NoSuchProcess:
            continue
        most = max(most, total)
        time.sleep(0.02)
    started.end().right()
    return most
