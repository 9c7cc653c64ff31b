"""`foreword finetune` and `foreword predict`, end to end, and everything a user can get wrong about them."""

from __future__ import annotations

import csv
import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.program import Program, Said, run
from tests.labelled import examples, folder

QUICK = ["--epochs", 2, "--batch-size", 16, "--learning-rate", "3e-3"]


def write(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def toy(path: Path, count: int = 60, seed: int = 0) -> Path:
    return write(path, [["text", "label"], *([*one.texts, one.label] for one in examples("classify", count, seed))])


def files(where: Path) -> set[str]:
    return {str(path.relative_to(where)) for path in where.rglob("*")}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("gpt2", tmp_path_factory.mktemp("base") / "gpt2")


def test_from_a_file_to_labels(base: Path, tmp_path: Path) -> None:
    said = run("finetune", base, toy(tmp_path / "toy.csv", 200), "--out", tmp_path / "run", "--epochs", 8, *QUICK[2:])
    lines = said.right().splitlines()
    assert lines[0].split() == ["split", "metric", "value", "95%", "of"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["dev", "accuracy"],
        ["dev", "macro_f1"],
        ["test", "accuracy"],
        ["test", "macro_f1"],
    ]
    assert [line.split()[0] for line in lines[6:9]] == ["baseline", "majority", "TF-IDF"]
    [found] = [line for line in lines if line.startswith("toy: accuracy ")]
    assert "majority 30.0, TF-IDF" in found
    assert lines[-1] == str(tmp_path / "run")
    assert "columns text and label, 2 different labels: single-text classification." in said.err
    assert "160 training examples, dev 20, test 20, budget 8epochs, 80 steps (few: a smaller --batch-size" in said.err
    assert {
        "recipe.toml",
        "metrics.jsonl",
        "passport.json",
        "predictions.jsonl",
        "model/config.json",
        "report.html",
    } <= files(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "gpt2 on toy" in page
    assert page.count("<svg") == 3, "what it answers, the loss, and dev"
    assert not re.search(r"(?:src|href)=[\"']?http", page)

    (tmp_path / "new.txt").write_text("the film was good\nthe film was awful and grim\n", encoding="utf-8")
    answers = run("predict", tmp_path / "run", tmp_path / "new.txt").right()
    assert answers == "1\tgood\n2\tbad\n"
    write(tmp_path / "new.csv", [["id", "text"], ["x", "the film was good"], ["y", "the film was awful and grim"]])
    rows = [
        json.loads(line)
        for line in run("predict", tmp_path / "run", tmp_path / "new.csv", "--json").right().splitlines()
    ]
    assert [row["answer"] for row in rows] == ["good", "bad"]
    assert all(sum(row["scores"].values()) == pytest.approx(1, abs=1e-4) for row in rows)
    run("predict", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "said.jsonl").right()
    assert [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()] == rows


def test_scores_as_json(base: Path, tmp_path: Path) -> None:
    found = json.loads(
        run("finetune", base, toy(tmp_path / "toy.csv"), "--out", tmp_path / "run", *QUICK, "--json").right()
    )
    assert set(found["scores"]["test"]["accuracy"]) == {"value", "interval", "count", "shown"}


def test_what_is_cut_is_said(base: Path, tmp_path: Path) -> None:
    rows = [[" ".join(["good" if n % 2 else "bad"] * (60 if n < 5 else 3)) + f" {n}", str(n % 2)] for n in range(40)]
    data = write(tmp_path / "long.csv", [["text", "label"], *rows])
    said = run("finetune", base, data, "--out", tmp_path / "run", *QUICK)
    assert "texts did not fit 48 tokens: only their first part is read" in said.err
    assert said.code == 0
    left = run("finetune", base, data, "--out", tmp_path / "whole", *QUICK, "--set", "batches.keep=all").fault()
    assert "tokens, of which 46 fit" in left
    assert not (tmp_path / "whole").exists()
    windows = run("finetune", base, data, "--out", tmp_path / "windows", *QUICK, "--set", "batches.windows=true")
    assert windows.code == 0
    assert "did not fit" not in windows.err


def test_ctrl_c_saves_and_the_same_command_goes_on(base: Path, tmp_path: Path) -> None:
    words = [
        "finetune",
        base,
        toy(tmp_path / "toy.csv", 100),
        "--out",
        tmp_path / "run",
        "--epochs",
        120,
        *QUICK[2:],
        "--set",
        'training.save="5"',
    ]
    stopped = Program(*words).when(lambda: list((tmp_path / "run").glob("checkpoints/step-*")), signal.SIGINT)
    assert stopped.code == 130, stopped.err
    assert "all of it is saved" in stopped.err
    resumed = run(*words)
    assert "goes on from step" in resumed.err
    assert resumed.code == 0


# --- what a user can get wrong -----------------------------------------------------------------------------------------

GOOD = [["text", "label"], *([f"the film number {n} was fine", "ab"[n % 2]] for n in range(30))]


def refused(said: Said, *words: str) -> None:
    message = said.fault()
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [["text", "label"], *([f"film {n}", "same"] for n in range(30))],
            ["only the label 'same'", "nothing to tell apart"],
        ),
        (
            [["body", "mood"], *([f"film {n}", "ab"[n % 2]] for n in range(30))],
            ["'body', 'mood'", "do not say what is to be learned"],
        ),
        ([["text", "label"], ["one", "a"], ["two", "b"]], ["there is no example for"]),
        ([["text", "label"], *GOOD[1:], ["", "a"]], ["is empty in this row"]),
    ],
    ids=["one class", "no such column", "too few", "an empty text"],
)
def test_examples_that_cannot_be_learned_from(base: Path, tmp_path: Path, rows: list, words: list[str]) -> None:
    data = write(tmp_path / "bad.csv", rows)
    before = files(tmp_path)
    refused(run("finetune", base, data, "--out", tmp_path / "run", *QUICK), *words)
    assert files(tmp_path) == before


def test_a_label_that_training_never_saw(base: Path, tmp_path: Path) -> None:
    data, dev = write(tmp_path / "train.csv", GOOD), write(tmp_path / "dev.csv", [["text", "label"], ["the film", "c"]])
    before = files(tmp_path)
    refused(
        run("finetune", base, data, "--dev", dev, "--out", tmp_path / "run"),
        "the label 'c' is in dev but in no training example",
    )
    empty = write(tmp_path / "empty.csv", [["text", "label"]])
    refused(run("finetune", base, data, "--dev", empty, "--out", tmp_path / "run"), "empty.csv", "holds no example")
    assert files(tmp_path) == before | {"empty.csv"}


def test_a_span_that_is_not_in_its_text(base: Path, tmp_path: Path) -> None:
    rows = [
        {"question": "what", "context": f"the film {n} was fine", "answers": [{"text": "grim", "start": 4}]}
        for n in range(20)
    ]
    data = tmp_path / "spans.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    refused(
        run("finetune", base, data, "--out", tmp_path / "run"),
        "does not stand at character 4 of its text, nor anywhere in it",
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "init=pretraind"], ["init must be one of", "Did you mean pretrained?"]),
        (["--labels", 1000], ["--labels 1,000", "training examples"]),
        (["--labels", 1], ["has 2 classes, and each needs an example"]),
        (["--epochs", 0], ["epochs must be more than 0"]),
        (["--learning-rate", -1], ["learning_rate must be more than 0"]),
        (["--batch-size", 0], ["batch_size must be at least 1"]),
        (["--set", "batches.length=96"], ["do not fit the network's context"]),
        (["--set", "batches.length=4"], ["leaves no room"]),
        (["--set", "batches.lenght=4"], ["there is no setting 'lenght' here. Did you mean length?"]),
        (["--set", "network.width=64"], ["must have the shape it was learned in"]),
        (["--kind", "sort"], ["there is no kind of task 'sort'"]),
        (["--set", "layers=-1"], ["layers must be at least 0"]),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) and str(value[0]).startswith("--") else "",
)
def test_options_that_cannot_be(base: Path, tmp_path: Path, options: list[object], words: list[str]) -> None:
    refused(run("finetune", base, write(tmp_path / "toy.csv", GOOD), "--out", tmp_path / "run", *options), *words)
    assert not (tmp_path / "run").exists()


def test_models_that_cannot_be_fine_tuned(made, tmp_path: Path) -> None:
    data = write(tmp_path / "toy.csv", GOOD)
    refused(run("finetune", made("kneser-ney"), data, "--out", tmp_path / "run"), "counts, and has no weights to adapt")
    refused(run("finetune", tmp_path / "gone", data, "--out", tmp_path / "run"), "gone is not there")
    refused(run("finetune", made("bert"), data, "--out", tmp_path / "run", "--set", "aux=0.5"), "is bidirectional")
    refused(run("predict", made("gpt2"), data), "is not a fine-tuned run")
    assert not (tmp_path / "run").exists()


def test_a_recurrent_network_is_fine_tuned_like_any_that_looks_back(made, tmp_path: Path) -> None:
    said = run("finetune", made("lstm"), write(tmp_path / "toy.csv", GOOD), "--out", tmp_path / "run", *QUICK)
    assert said.code == 0, said.err


def test_predict_says_what_the_file_lacks(base: Path, tmp_path: Path) -> None:
    run("finetune", base, toy(tmp_path / "toy.csv"), "--out", tmp_path / "run", *QUICK).right()
    refused(
        run("predict", tmp_path / "run", write(tmp_path / "new.csv", [["txt"], ["a film"]])),
        "no column 'text'",
        "Did you mean txt?",
    )
    refused(run("predict", tmp_path / "run", tmp_path / "gone.csv"), "gone.csv is not there")
    (tmp_path / "empty.txt").write_text("\n")
    refused(run("predict", tmp_path / "run", tmp_path / "empty.txt"), "holds no text")
