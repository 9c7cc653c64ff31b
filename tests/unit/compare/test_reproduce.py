"""A run again: the same bits, or what differs and why."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from safetensors.numpy import load_file, save_file

from foreword.assembly import loader
from foreword.basics.messages import Fault
from foreword.compare.reproduce import reproduce
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.training.hardware import Hardware

TINY = [
    "network.layers=1",
    "network.width=16",
    "network.heads=2",
    "network.context=16",
    "training.batch_size=2",
    "training.log=2",
    'training.budget="4"',
]
QUIET = Hardware(prefetch=False)


@pytest.fixture(scope="module")
def trained(stores, tmp_path_factory):
    """A tiny GPT-2 of four steps."""
    folder = tmp_path_factory.mktemp("reproduce") / "run"
    return train(loader.load("gpt2", "laptop", TINY), stores["byte_bpe"], folder, hardware=QUIET).path


def test_a_run_is_the_same_bit_for_bit(trained, tmp_path):
    found = reproduce(trained, tmp_path / "again", QUIET)
    assert found.values["same"], found.lead
    assert found.lead[0].startswith("The same, bit for bit")


def test_a_weight_that_was_changed_is_named(trained, tmp_path):
    file = RunFolder(trained).model / "model.safetensors"
    before = file.read_bytes()
    tensors = load_file(file)
    name = sorted(tensors)[0]
    tensors[name] = tensors[name].copy()
    tensors[name].flat[0] += 0.5
    save_file(tensors, file)
    try:
        found = reproduce(trained, tmp_path / "again", QUIET)
    finally:
        file.write_bytes(before)
    assert found.values["differ"] == [name]
    assert found.values["largest"] == pytest.approx(0.5, rel=0.01)
    assert "this should not be" in " ".join(found.lead)


def test_other_versions_are_said(trained, tmp_path):
    passport = trained / "passport.json"
    said = json.loads(passport.read_text())
    before = passport.read_text()
    said["versions"]["torch"] = "1.0"
    passport.write_text(json.dumps(said))
    try:
        found = reproduce(trained, tmp_path / "again", QUIET)
    finally:
        passport.write_text(before)
    assert "torch was 1.0" in found.values["why"][0]


def test_what_cannot_be_repeated_is_said(trained, tmp_path):
    with pytest.raises(Fault, match="is not a run"):
        reproduce(tmp_path, tmp_path / "again", QUIET)
    passport = trained / "passport.json"
    before = passport.read_text()
    try:
        passport.write_text(json.dumps(json.loads(before) | {"store": str(tmp_path / "gone")}))
        with pytest.raises(Fault, match="text of .* is gone"):
            reproduce(trained, tmp_path / "again", QUIET)
        passport.write_text(json.dumps(json.loads(before) | {"finished": False}))
        with pytest.raises(Fault, match="not finished"):
            reproduce(trained, tmp_path / "again", replace(QUIET))
    finally:
        passport.write_text(before)
