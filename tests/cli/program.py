"""Ways to run the program: in this process for speed, or as a process of its own that can be killed."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from foreword.cli.main import main

# a network that learns nothing much, at once
TINY = [
    "--size",
    "laptop",
    "--set",
    "network.layers=1",
    "--set",
    "network.width=32",
    "--set",
    "network.heads=2",
    "--set",
    "network.context=32",
    "--set",
    "training.batch_size=4",
    "--set",
    "training.log=2",
]
LSTM = ["--size", "laptop", "--set", "network.width=24", "--set", "batches.length=16", "--set", "training.batch_size=4"]


@dataclass(frozen=True)
class Said:
    code: int
    out: str  # data
    err: str  # everything for the person watching

    def right(self) -> str:
        assert self.code == 0, self.err
        return self.out

    def fault(self, code: int = 2) -> str:
        """What was wrong, in words: never a traceback, nothing on stdout."""
        assert self.code == code, f"code {self.code}: {self.err}"
        assert "Traceback" not in self.err
        assert self.out == ""
        return self.err.rstrip("\n")


def run(*words: object) -> Said:
    """`foreword WORDS` in this process. Anything but a Fault comes out as the exception it is, and fails the test."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["foreword", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Said(code, out.getvalue(), err.getvalue())


class Program:
    """`python -m foreword WORDS` as a process of its own."""

    def __init__(self, *words: object, cwd: Path | None = None):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "foreword", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            cwd=cwd,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def end(self) -> Said:
        out, err = self.process.communicate(timeout=600)  # against hanging only: machines are slow when much else runs
        return Said(self.process.returncode, out, err)

    def when(self, happens: Callable[[], object], number: signal.Signals) -> Said:
        """Send a signal as soon as something has happened."""
        while not happens():
            assert self.process.poll() is None, f"it ended before: {self.end().err}"
            time.sleep(0.005)
        self.process.send_signal(number)
        return self.end()


def write_as(ending: str, texts: list[str], folder: Path) -> Path:
    """The texts as a file of some kind, or as a folder of files where a file is one document."""
    path = folder / f"help.{ending}"
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    if ending in ("txt", "md"):
        path.mkdir()
        for number, one in enumerate(texts):
            (path / f"{number:04d}.{ending}").write_text(one, encoding="utf-8")
    elif ending == "jsonl":
        path.write_bytes(lines)
    elif ending == "jsonl.gz":
        path.write_bytes(gzip.compress(lines, mtime=0))
    elif ending == "jsonl.zst":
        path.write_bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(lines))
    elif ending == "csv":
        import csv

        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["number", "text"], *([str(n), one] for n, one in enumerate(texts))])
    elif ending == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"text": texts}), path)
    return path
