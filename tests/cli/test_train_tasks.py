"""`foreword train mt-dnn`: several tasks in one trunk, then one of them alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.labelled import examples, folder

ALONE = ["--epochs", 1, "--batch-size", 16, "--learning-rate", "3e-3"]
QUICK = ["--budget", "1epochs", "--set", "training.batch_size=16", "--set", "training.optimizer.learning_rate=3e-3"]


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
    lines = (
        run("train", "mt-dnn", "--from", base, "--data", films, pairs, "--out", tmp_path / "run", *QUICK)
        .right()
        .splitlines()
    )
    assert {tuple(line.split()[:2]) for line in lines[1 : lines.index("")]} == {
        (name, split) for name in ("films", "pairs") for split in ("dev", "test")
    }
    assert lines[-1] == str(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "bert on films, pairs" in page
    assert [f"<h2>{name}: Predictions on test</h2>" in page for name in ("films", "pairs")] == [True, True]
    run("finetune", tmp_path / "run", films, "--out", tmp_path / "alone", *ALONE).right()
    passport = json.loads((tmp_path / "alone" / "passport.json").read_text())
    assert passport["start"]["path"] == str(tmp_path / "run" / "model-films")
    run("train", "mt-dnn", "--from", tmp_path / "run", "--data", pairs, "--out", tmp_path / "steps", *QUICK).right()
    assert set(json.loads((tmp_path / "steps" / "passport.json").read_text())["scores"]) == {"pairs"}


def test_predicting_with_one_of_several_tasks(base: Path, tmp_path: Path) -> None:
    films, pairs = files(tmp_path)
    run("train", "mt-dnn", "--from", base, "--data", films, pairs, "--out", tmp_path / "run", *QUICK).right()
    lines = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text("utf-8").splitlines()]
    for name, file in (("films", films), ("pairs", pairs)):
        said = [
            json.loads(line)
            for line in run("predict", tmp_path / "run", file, "--task", name, "--json").right().splitlines()
        ]
        answers = {line["id"]: line["scores"] for line in said}
        wanted = {line["id"]: line["scores"] for line in lines if line["task"] == name}
        assert wanted
        assert all(answers[one] == pytest.approx(scores, abs=1e-5) for one, scores in wanted.items())
        bare = [
            json.loads(line)
            for line in run("predict", tmp_path / "run" / f"model-{name}", file, "--json").right().splitlines()
        ]
        assert bare == said
    assert run("predict", tmp_path / "run", films).fault() == (
        f"{tmp_path / 'run'} was fine-tuned on several tasks: films, pairs.\n    Say which:  --task films"
    )
    said = run("predict", tmp_path / "run", films, "--task", "film", "--out", tmp_path / "said.jsonl").fault()
    assert "was not fine-tuned on 'film'. Did you mean films?" in said
    assert "It knows: films, pairs." in said
    assert "has a head for each of films, pairs" in run("predict", tmp_path / "run" / "model", films).fault()
    assert "no column 'text2'" in run("predict", tmp_path / "run", films, "--task", "pairs").fault()
    assert not (tmp_path / "said.jsonl").exists()


def test_what_does_not_go_together_is_refused_and_nothing_is_written(base: Path, tmp_path: Path) -> None:
    films, pairs = files(tmp_path)
    old = run("finetune", base, f"{films},{pairs}", "--multi", "--out", tmp_path / "run").fault()
    assert old == "--multi is a recipe: foreword train mt-dnn --from MODEL --data TASK TASK."
    assert "Give one:  --from RUN" in run("train", "mt-dnn", "--data", films, pairs, "--out", tmp_path / "run").fault()
    assert (
        "a name of its own"
        in run("train", "mt-dnn", "--from", base, "--data", films, films, "--out", tmp_path / "run").fault()
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("verb", [["plan", "mt-dnn"], ["preview", "mt-dnn", "--data"], ["study", "mt-dnn", "--data"]])
def test_verbs_that_need_text_say_that_its_data_are_tasks(verb: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.\n", encoding="utf-8")
    said = run(*verb, *([tmp_path / "a.txt"] if verb[-1] == "--data" else [])).fault()
    assert "mt-dnn learns from labelled tasks, not from text." in said
