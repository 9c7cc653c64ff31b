"""`foreword probe`: end to end on a file of one's own, and what it says of bad input before anything is written."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.cli.test_finetune import toy
from tests.trunks import folder

CUES = {"yes": "outdoors", "maybe": "tall", "no": "nobody"}


def write(path: Path, cue: float, pairs: int = 900) -> Path:
    draw = random.Random(path.stem)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["premise", "hypothesis", "label"])
        for number in range(pairs):
            label = draw.choice(list(CUES))
            words = [f"w{draw.randrange(30)}" for _ in range(5)] + ([CUES[label]] if draw.random() < cue else [])
            writer.writerow([f"a premise, number {number}", " ".join(words), label])
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probe")
    return write(folder / "planted.csv", 0.5), write(folder / "clean.csv", 0.0)


def test_a_file_with_planted_words(files, tmp_path):
    planted, clean = files
    out = run("probe", planted, "--on", clean, "--smoothing", 5, "--top", 3, "--out", tmp_path / "out").right()
    assert "columns premise, hypothesis and label, 3 different labels: pair classification." in out
    assert "labels are given away." in out
    assert "nobody" in out
    assert "clean" in out
    saved = json.loads((tmp_path / "out/probe.json").read_text(encoding="utf-8"))
    assert saved["above"] > 0.15
    assert [cues[0]["word"] for cues in saved["cues"].values()] == [CUES[label] for label in saved["labels"]]
    assert saved["crossed"][1]["drop"] > 0.15
    assert (tmp_path / "out/cues.svg").is_file()
    said = json.loads(run("probe", planted, "--smoothing", 5, "--json").right())
    assert said["above"] == saved["above"]
    assert "no sign that labels are given away." in run("probe", clean).right()


def test_bad_input_is_said_and_nothing_is_written(files, tmp_path):
    planted, _ = files
    out = tmp_path / "out"
    assert "no task is called 'sn'" in run("probe", "sn", "--out", out).fault()
    single = tmp_path / "single.csv"
    single.write_text("text,label\n" + "".join(f"text {n},{n % 2}\n" for n in range(40)), encoding="utf-8")
    assert run("probe", single, "--out", out).fault() == (
        "single is single-text classification: there is no second text to be blind to.\n    Probe a task of pairs."
    )
    assert "Test on tasks of one kind" in run("probe", planted, "--on", single, "--out", out).fault()
    broken = tmp_path / "broken.csv"
    broken.write_text(
        "premise,hypothesis,label\n" + "".join(f"p{n},h,{'' if n in (3, 5) else n % 2}\n" for n in range(40)),
        encoding="utf-8",
    )
    said = run("probe", broken, "--out", out).fault()
    assert f"{broken}:5\n    this row has no label." in said
    assert f"{broken}:7\n    this row has no label." in said
    assert not out.exists()


def test_a_model_is_probed_on_a_task(tmp_path):
    """Layers, units, a map, a word in context and a clamped unit, each from the command line."""
    base, data = folder("lstm", tmp_path / "base"), toy(tmp_path / "toy.csv")
    out = run("probe", base, data, "--labels", 40, "--out", tmp_path / "layers").right()
    assert "layer 0 (embeddings)" in out
    assert (tmp_path / "layers/report.html").is_file()
    found = run("probe", base, data, "--units", "--text", "the film was good", "--out", tmp_path / "units").right()
    assert "the film was good" in found
    unit = json.loads((tmp_path / "units/probe.json").read_text(encoding="utf-8"))["units"][0]["unit"]
    assert f"--clamp {unit}=" in found
    said = run(
        "probe", base, data, "--near", "film", "--text", "the film was good", "--text", "a bad film", "--json"
    ).right()
    assert len(json.loads(said)["nearest"]) == 2
    assert "nearest texts guess the label" in run("probe", base, data, "--map").right()
    run("generate", base, "the film", "--max-tokens", 3, "--clamp", f"{unit}=+1.0", "--json").right()
    assert "--clamp film: write UNIT=VALUE" in run("generate", base, "the", "--clamp", "film").fault()
    assert "9,999 is not one of them" in run("generate", base, "the", "--clamp", "9999=1").fault()
    assert "is about a model" in run("probe", data, "--units").fault()
    assert "is probed on a task" in run("probe", base).fault()
    assert "--near compares a word in sentences" in run("probe", base, data, "--near", "film").fault()


def test_pairs_with_one_word_changed_are_scored(files, tmp_path):
    planted, _ = files
    said = run("probe", planted, "--make-breaking", tmp_path / "breaking.jsonl").right()
    assert "pairs (" in said
    assert '"category"' in (tmp_path / "breaking.jsonl").read_text(encoding="utf-8")
