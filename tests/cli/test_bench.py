"""`foreword bench` end to end, on shapes and texts that say nothing about speed."""

from __future__ import annotations

import json

import pytest

from foreword.bench.race import race
from tests.cli.program import run


@pytest.fixture(autouse=True)
def _one_call_a_turn(monkeypatch):
    for place in ("train", "generate"):
        monkeypatch.setattr(f"foreword.bench.{place}.race", lambda work, rounds, seconds=1.0: race(work, rounds, 0.0))


def test_train_on_the_tiny_shape():
    said = run("bench", "train", "--shape", "tiny", "--rounds", 1, "--no-compile").right()
    assert "ours, eager" in said
    assert "MFU" in said


def test_generate_as_json():
    found = json.loads(run("bench", "generate", "--shape", "tiny", "--rounds", 1, "--batch", 2, "--json").right())
    assert {one["batch"] for one in found["figures"]} == {2}
    assert found["new"] == 128


@pytest.mark.parametrize("what", ["tokens", "counts"])
def test_text_of_the_users_own(what, text):
    said = run("bench", what, "--data", text, "--megabytes", 0.05, "--rounds", 1).right()
    assert "per core-second" in said


def test_what_cannot_be_measured():
    assert run("bench", "tokns").fault() == ("'tokns' cannot be measured. Did you mean tokens?\n"
                                             "    What can: train, generate, tokens, counts.")
    assert "no shape is called 'tinny'. Did you mean tiny?" in run("bench", "train", "--shape", "tinny").fault()
    assert run("bench", "generate", "--shape", "tiny", "--shape", "char").fault() == "generate measures one shape at a time."
