"""A study whose starts are trained first: each on the task's own text without labels, then compared with each other and scratch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.compare.study_file import finetune_study, read_study
from foreword.runs.folder import RunFolder
from foreword.training.hardware import Hardware

SMALL = """
task = "{data}"
labels = 20
seeds = 1
epochs = 1
network = "lstm:laptop"
out = "{out}"
[set]
"objective.read" = "mean"
[starts.language-model]
recipe = "lstm:laptop"
budget = 2
set = { tokenizer = { kind = "word" }, network = { width = 16 }, training = { batch_size = 4 } }
[starts.autoencoder]
recipe = "sequence-autoencoder:laptop"
budget = 2
set = { tokenizer = { kind = "word" }, network = { width = 16, embedding = 8 }, training = { batch_size = 4 } }
[starts.word-vectors]
recipe = "word2vec"
set = { network = { width = 8 }, tokenizer = { minimum = 1 } }
"""


@pytest.mark.thorough
def test_starts_learn_from_the_text_of_the_task_and_are_compared(tmp_path: Path) -> None:
    rows = [f"the film number {n} was {'good' if n % 2 else 'bad'} and long,{n % 2}" for n in range(120)]
    (tmp_path / "films.csv").write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    file, out = tmp_path / "starts.toml", tmp_path / "out"
    file.write_text(SMALL.replace("{data}", str(tmp_path / "films.csv")).replace("{out}", str(out)), encoding="utf-8")
    found, folder = finetune_study(read_study(str(file), {}), Hardware())
    assert folder == out
    text = (out / "starts/text.txt").read_text(encoding="utf-8").splitlines()
    assert len(text) < 120, "test and dev are not read"
    assert all(line in "\n".join(rows) for line in text)
    said = json.dumps(found.data())
    for name in ("language-model", "autoencoder", "word-vectors", "scratch"):
        assert name in said
    for name in ("language-model", "autoencoder", "word-vectors"):
        assert RunFolder(out / "starts" / name).passport()["finished"]
