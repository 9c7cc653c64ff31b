"""benchmarks/run.py with options, on shapes and texts that say nothing about speed."""

from __future__ import annotations

import json

import pytest

from benchmarks.race import race
from benchmarks.run import parsed, report
from foreword.basics.messages import Fault
from tests.cli.program import run


def said(*words: object) -> str:
    asked, _ = parsed([str(word) for word in words])
    return report(asked.names[0], asked)


@pytest.fixture(autouse=True)
def _one_call_a_turn(monkeypatch):
    for place in ("train", "generate"):
        monkeypatch.setattr(f"benchmarks.{place}.race", lambda work, rounds, seconds=1.0: race(work, rounds, 0.0))


def test_train_on_the_tiny_shape():
    lines = said("train", "--shape", "tiny", "--rounds", 1, "--no-compile")
    assert "ours, eager" in lines
    assert "MFU" in lines
    assert "compiled" not in lines


def test_generate_as_json():
    found = json.loads(said("generate", "--shape", "tiny", "--rounds", 1, "--batch", 2, "--json"))
    assert {one["batch"] for one in found["figures"]} == {2}
    assert found["new"] == 128


@pytest.mark.parametrize("what", ["tokens", "counts"])
def test_text_of_the_users_own(what, tmp_path):
    (tmp_path / "mine.txt").write_text("some words and more of them. " * 2000)
    assert "per core-second" in said(what, "--data", tmp_path, "--megabytes", 0.05, "--rounds", 1)


def test_what_cannot_be_measured(capsys):
    for words, fault in (
        (["tokns"], "there is no benchmark tokns. Benchmarks: loop, memory"),
        (["memory", "--rounds", "2"], "memory has no --rounds"),
        (["train", "--batch", "2"], "train has no --batch"),
    ):
        with pytest.raises(SystemExit):
            parsed(words)
        assert fault in capsys.readouterr().err
    with pytest.raises(Fault, match="no shape is called 'tinny'. Did you mean tiny?"):
        said("train", "--shape", "tinny")
    with pytest.raises(Fault, match="generate measures one shape at a time"):
        said("generate", "--shape", "tiny", "--shape", "char")


def test_the_verb_names_its_new_place():
    fault = run("bench", "train", "--shape", "10m").fault()
    assert (
        fault == "benchmarks are not part of the program.\n    In the repository:  make bench ARGS='train --shape 10m'"
    )
