"""`foreword test RUN DATA`: a fine-tuned run scored on its own data and others, and what cannot be."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.labelled import BAD, GOOD, folder

QUICK = ["--epochs", 6, "--batch-size", 16, "--learning-rate", "3e-3"]
NAMES = {"three": ("entailment", "neutral", "contradiction"), "two": ("entails", "neutral")}


def write(path: Path, labels: tuple[str, ...], count: int = 90) -> Path:
    """A pair whose second text has a good word is entailed; the others are not, whatever that is called."""
    draw = random.Random(path.stem)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["premise", "hypothesis", "label"])
        for number in range(count):
            right = number % len(labels)
            rows.writerow(
                [
                    f"the film {number}",
                    f"it was {draw.choice(BAD if right else GOOD)} {'and a day' if right > 1 else ''}",
                    labels[right],
                ]
            )
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets, and a run of each."""
    where = tmp_path_factory.mktemp("tuned")
    base = folder("bert", where / "base")
    for name, labels in NAMES.items():
        run("finetune", base, write(where / f"{name}.csv", labels), "--out", where / f"run-{name}", *QUICK).right()
    return where


def test_a_matrix_of_two_runs_and_two_sets(place: Path, tmp_path: Path) -> None:
    three, two, out = place / "run-three", place / "run-two", tmp_path / "out"
    words = ["test", three, two, place / "three.csv", place / "two.csv"]
    text = run(*words, "--out", out, "--examples", tmp_path / "said.jsonl").right()
    assert text.splitlines()[0].split()[:3] == ["model", "trained", "on"]
    assert "three on two, two on three: labels joined to entailment, not_entailment." in text
    saved = json.loads((out / "crossed.json").read_text(encoding="utf-8"))
    assert [(one["learned"], one["task"]) for one in saved] == [(a, b) for a in NAMES for b in NAMES]
    for one in saved:
        run_of = json.loads((place / f"run-{one['learned']}" / "passport.json").read_text())
        if one["learned"] == one["task"]:
            assert one["metrics"]["accuracy"]["value"] == run_of["scores"]["test"]["accuracy"]["value"]
            assert one["drop"] == 0
        else:
            assert one["metrics"]["accuracy"]["count"] == 90, "nothing of that file was learned: it is asked whole"
            assert one["joined"]
    assert (out / "crossed.svg").read_text(encoding="utf-8").startswith("<svg")
    lines = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == sum(one["metrics"]["accuracy"]["count"] for one in saved)
    assert {line["answer"] for line in lines if (line["model"], line["task"]) == ("run-three", "two")} <= set(
        NAMES["three"]
    )
    assert json.loads(run(*words, "--json").right())["crossed"] == saved
    limited = json.loads(run("test", three, place / "two.csv", "--limit", 7, "--json").right())["crossed"]
    assert limited[0]["metrics"]["accuracy"]["count"] == 7


def test_what_cannot_be_asked_is_said_and_nothing_is_written(place: Path, tmp_path: Path) -> None:
    tuned, out = place / "run-three", tmp_path / "out"
    odd = write(tmp_path / "odd.csv", ("yes", "no"))
    said = run("test", tuned, odd, "--out", out).fault()
    assert said == (
        "the labels of odd (no, yes) are not those of three (contradiction, entailment, neutral).\n"
        "    Test on tasks whose labels mean the same."
    )
    single = tmp_path / "single.csv"
    single.write_text("text,label\n" + "".join(f"text {n},{n % 2}\n" for n in range(40)), encoding="utf-8")
    assert (
        "three is pair classification and single is single-text classification"
        in run("test", tuned, single, "--out", out).fault()
    )
    assert run("evaluate", tuned, odd).fault() == (
        f"{tuned} is fine-tuned: it answers a labelled task, and no longer predicts text.\n"
        f"    Score it on labelled data:  foreword test {tuned} {odd}"
    )
    assert f"foreword test {tuned} TASK" in run("evaluate", tuned).fault()
    assert f"foreword test {tuned} TASK" in run("test", tuned).fault()
    assert "base is not fine-tuned" in run("test", tuned, place / "base", odd).fault()
    assert "there is no fine-tuned run" in run("test", odd).fault()
    assert "--out is an option of foreword test" in run("evaluate", place / "base", "--out", out).fault()
    assert "no task is called 'scitial'. Did you mean scitail" in run("test", tuned, "scitial").fault()
    assert "gone.csv is not there" in run("test", tuned, tmp_path / "gone.csv").fault()
    assert "--limit 0" in run("test", tuned, odd, "--limit", 0).fault()
    assert not out.exists()
