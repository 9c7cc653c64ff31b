"""`foreword finetune --multi`: several tasks in one trunk, then one of them alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.labelled import examples, folder

QUICK = ["--epochs", 1, "--batch-size", 16, "--learning-rate", "3e-3"]


def files(where: Path) -> list[Path]:
    """A file of films and a file of pairs."""
    kinds = {"films": ("classify", ["text", "label"]), "pairs": ("pair", ["text1", "text2", "label"])}
    for name, (kind, head) in kinds.items():
        with open(where / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *([*one.texts, one.label] for one in examples(kind, 60))])
    return [where / f"{name}.csv" for name in kinds]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("bert", tmp_path_factory.mktemp("base") / "bert")


def test_several_tasks_and_then_one(base: Path, tmp_path: Path) -> None:
    films, pairs = files(tmp_path)
    lines = run("finetune", base, f"{films},{pairs}", "--multi", "--out", tmp_path / "run", *QUICK).right().splitlines()
    assert {tuple(line.split()[:2]) for line in lines[1:lines.index("")]} == {
        (name, split) for name in ("films", "pairs") for split in ("dev", "test")}
    assert lines[-1] == str(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "bert on films, pairs" in page
    assert [f"<h2>{name}: Predictions on test</h2>" in page for name in ("films", "pairs")] == [True, True]
    run("finetune", tmp_path / "run", films, "--out", tmp_path / "alone", *QUICK).right()
    passport = json.loads((tmp_path / "alone" / "passport.json").read_text())
    assert passport["start"]["path"] == str(tmp_path / "run" / "model-films")
    found = json.loads(run("finetune", tmp_path / "run", pairs, "--multi", "--out", tmp_path / "steps", *QUICK, "--json").right())
    assert set(found["scores"]) == {"pairs"}


def test_predicting_with_one_of_several_tasks(base: Path, tmp_path: Path) -> None:
    films, pairs = files(tmp_path)
    run("finetune", base, f"{films},{pairs}", "--multi", "--out", tmp_path / "run", *QUICK).right()
    lines = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text("utf-8").splitlines()]
    for name, file in (("films", films), ("pairs", pairs)):
        said = [json.loads(line) for line in run("predict", tmp_path / "run", file, "--task", name, "--json").right().splitlines()]
        answers = {line["id"]: line["scores"] for line in said}
        wanted = {line["id"]: line["scores"] for line in lines if line["task"] == name}
        assert wanted
        assert all(answers[one] == pytest.approx(scores, abs=1e-5) for one, scores in wanted.items())
        bare = [json.loads(line) for line in run("predict", tmp_path / "run" / f"model-{name}", file, "--json").right().splitlines()]
        assert bare == said
    assert run("predict", tmp_path / "run", films).fault() == (
        f"{tmp_path / 'run'} was fine-tuned on several tasks: films, pairs.\n    Say which:  --task films")
    said = run("predict", tmp_path / "run", films, "--task", "film", "--out", tmp_path / "said.jsonl").fault()
    assert "was not fine-tuned on 'film'. Did you mean films?" in said
    assert "It knows: films, pairs." in said
    assert "has a head for each of films, pairs" in run("predict", tmp_path / "run" / "model", films).fault()
    assert "no column 'text2'" in run("predict", tmp_path / "run", films, "--task", "pairs").fault()
    assert not (tmp_path / "said.jsonl").exists()


def test_what_does_not_go_together_is_refused_and_nothing_is_written(base: Path, tmp_path: Path) -> None:
    films, pairs = files(tmp_path)
    for more, words in ((["--seeds", 2], "foreword study"), (["--set", "aux=0.5"], "--aux 0.5")):
        said = run("finetune", base, f"{films},{pairs}", "--multi", "--out", tmp_path / "run", *more)
        assert said.code == 2
        assert words in said.err
    said = run("finetune", base, f"{films},{films}", "--multi", "--out", tmp_path / "run")
    assert said.code == 2
    assert "a name of its own" in said.err
    assert not (tmp_path / "run").exists()
