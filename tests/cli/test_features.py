"""`foreword finetune --features`, from a file to labels, and what cannot be asked with it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.labelled import examples
from tests.trunks import folder


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    path = tmp_path / "toy.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "label"], *([*one.texts, one.label] for one in examples("classify", 60))])
    return path


@pytest.mark.parametrize(("family", "reader"), [("bert", "linear"), ("lstm", "bilstm")])
def test_from_a_file_to_labels(family: str, reader: str, toy: Path, tmp_path: Path) -> None:
    base = folder(family, tmp_path / "base")
    said = run("finetune", base, toy, "--out", tmp_path / "run", "--features", reader, "--batch-size", 16)
    assert said.right().splitlines()[-1] == str(tmp_path / "run")
    passport = json.loads((tmp_path / "run" / "passport.json").read_text())
    assert passport["tuning"]["features"] == reader
    recipe = (tmp_path / "run" / "recipe.toml").read_text()
    assert 'kind = "features"' in recipe
    assert "learning_rate = 0.001" in recipe
    (tmp_path / "new.txt").write_text("the film was good\nthe film was awful and grim\n", encoding="utf-8")
    answers = run("predict", tmp_path / "run", tmp_path / "new.txt").right()
    assert [line.split("\t")[1] in ("good", "bad") for line in answers.splitlines()] == [True, True]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--features", "liner"], "Did you mean linear?"),
        (["--features", "linear", "--set", "aux=0.5"], "what is frozen learns nothing"),
        (["--features", "bilstm", "--set", "layers=1"], "--set network.trunk.layers=1"),
        (["--features", "bilstm", "--set", "network.reader.width=7"], "width must be even"),
        (["--features", "bilstm", "--set", "network.reader.widht=8"], "Did you mean width?"),
        (["--features", "linear", "--set", "network.trunk.width=64"], "must have the shape it was learned in"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    options: list[str], words: str, toy: Path, tmp_path: Path
) -> None:
    base = folder("gpt2", tmp_path / "base")
    assert words in run("finetune", base, toy, "--out", tmp_path / "run", *options).fault()
    assert not (tmp_path / "run").exists()
