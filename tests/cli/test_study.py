"""`foreword finetune` with several seeds, end to end."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import run
from tests.cli.test_finetune import QUICK, toy
from tests.labelled import folder


def test_a_study_from_a_file(tmp_path: Path) -> None:
    base, data, out = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv"), tmp_path / "out"
    words = ["finetune", base, data, "--out", out, *QUICK, "--seeds", 2, "--curve", "8,all", "--compare", "scratch", "--ensemble"]
    said = run(*words)
    lines = said.right().splitlines()
    assert lines[0] == "toy: accuracy, mean over seeds"
    assert lines[1].split()[:3] == ["model", "labels", "rate"]
    assert [line.split()[0] for line in lines[2:11]] == [*["pretrained", "scratch", "ensemble", "TF-IDF"] * 2, "majority"]
    assert lines[-1] == str(out)
    assert "run 8 of 8: scratch, all labels" in said.err
    assert (out / "report.html").is_file()
    assert (out / "labels-8" / "scratch" / "seed-1" / "model" / "config.json").is_file()
    again = run(*words, "--json")
    assert again.err.count("nothing is left to do") == 8
    assert json.loads(again.right()) == json.loads((out / "study.json").read_text(encoding="utf-8"))


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    base, data = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv")
    out = tmp_path / "out"
    assert "--grid tries its own rates" in run("finetune", base, data, "--out", out, "--grid", "--learning-rate", "1e-3").fault()
    assert "--grid tries its own batch sizes" in run("finetune", base, data, "--out", out, "--grid", "--batch-size", 8).fault()
    assert "--curve 8;9" in run("finetune", base, data, "--out", out, "--curve", "8;9").fault()
    assert not out.exists()
