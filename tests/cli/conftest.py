"""Stores and runs for the tests of the command line, on some 90 kB of Python's own help, each made once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from pydoc_data.topics import topics

import pytest
import torch

from tests.cli.program import LSTM, TINY, run


@pytest.fixture(scope="session", autouse=True)
def _quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One thread, and a cache that is not the user's."""
    torch.set_num_threads(1)
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Some 90 kB in paragraphs."""
    found, size = [], 0
    for name in sorted(topics):
        for paragraph in topics[name].split("\n\n"):
            if len(paragraph) > 80 and size < 90_000:
                found.append(paragraph.strip("\n"))
                size += len(paragraph)
    return found


@pytest.fixture(scope="session")
def text(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as one jsonl file."""
    path = tmp_path_factory.mktemp("text") / "help.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def made(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Stores and runs that many tests read and none changes, each made when first asked for."""
    folder = tmp_path_factory.mktemp("made")
    ways: dict[str, list[object]] = {
        "bpe": ["tokens", text, "--vocabulary", 500, "--splits", "0.8/0.1/0.1"],
        "bytes": ["tokens", text, "--tokenizer", "byte", "--splits", "0.8/0.1/0.1"],
        "pieces": ["tokens", text, "--tokenizer", "wordpiece", "--vocabulary", 500, "--splits", "0.8/0.1/0.1"],
        "gpt2": ["train", "gpt2", *TINY, "--budget", 8, "--data", folder / "bpe"],
        "byte-gpt2": ["train", "gpt2", *TINY, "--budget", 2, "--data", folder / "bytes"],
        "bert": ["train", "bert", *TINY, "--budget", 6, "--data", folder / "pieces"],
        "lstm": ["train", "lstm", *LSTM, "--budget", 6, "--data", folder / "bpe"],
        "kneser-ney": ["train", "kneser-ney", "--set", "network.order=3", "--data", folder / "bpe"],
        "piece-bigram": ["train", "bigram", "--data", folder / "pieces"],
    }
    needs = {
        "gpt2": "bpe",
        "lstm": "bpe",
        "kneser-ney": "bpe",
        "bert": "pieces",
        "byte-gpt2": "bytes",
        "piece-bigram": "pieces",
    }

    def make(name: str) -> Path:
        if name in needs:
            make(needs[name])
        if not (folder / name).exists():
            run(*ways[name], "--out", folder / name).right()
        return folder / name

    return make
