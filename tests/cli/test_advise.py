"""`foreword advise`, end to end: the winner is kept, controls find nothing, and what is wrong is said."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import random
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.labelled import examples


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return path


def labelled(count: int, seed: int = 0) -> list[tuple[str, str]]:
    return [(one.texts[0], str(one.label)) for one in examples("classify", count, seed)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Text, labels and a test of words that decide."""
    (tmp_path / "text.txt").write_text("\n".join(text for text, _ in labelled(400, 3)) + "\n", encoding="utf-8")
    write(tmp_path / "labels.csv", labelled(120))
    write(tmp_path / "test.csv", labelled(60, 1))
    return tmp_path


def advise(place: Path, labels: str = "labels.csv", out: str = "advice", *more: object):
    words = ("--labels", place / labels, "--test", place / "test.csv", "--out", place / out, *more)
    return run("advise", place / "text.txt", *words, *([] if "--budget" in more else ["--budget", "10m"]))


def test_the_winner_is_kept_and_answers(place: Path) -> None:
    said = advise(place)
    lines = said.right().splitlines()
    assert lines[-1] == str(place / "advice")
    assert any(line.startswith("Use ") and "on test" in line for line in lines)
    assert {"report.html", "advice.json", "winner"} <= {path.name for path in (place / "advice").iterdir()}
    found = json.loads((place / "advice" / "advice.json").read_text())
    assert found["learned"]
    assert found["test"][found["winner"]] > 0.9 > found["test"]["one answer"]
    assert {"TF-IDF", "word vectors of your text", "one answer"} <= {one["name"] for one in found["candidates"]}
    answered = run("predict", place / "advice" / "winner", place / "test.csv", "--json").right().splitlines()
    right = [json.loads(line)["answer"] == label for line, (_, label) in zip(answered, labelled(60, 1))]
    assert sum(right) / len(right) == pytest.approx(found["test"][found["winner"]])
    trials = {path: path.read_bytes() for path in (place / "advice" / "trials").iterdir()}
    assert "Use " in advise(place).right()  # again: nothing is tried twice
    assert {path: path.read_bytes() for path in (place / "advice" / "trials").iterdir()} == trials


def test_exchanged_labels_teach_nothing(place: Path) -> None:
    rows = labelled(120)
    labels = [label for _, label in rows]
    random.Random(0).shuffle(labels)
    write(place / "exchanged.csv", [(text, label) for (text, _), label in zip(rows, labels)])
    assert "Nothing was learned from these 120 labels" in advise(place, "exchanged.csv").right()
    assert not (place / "advice" / "winner").exists()


def test_what_is_wrong_is_said_and_nothing_is_left(place: Path) -> None:
    out = place / "advice"
    write(place / "one.csv", [(text, "yes") for text, _ in labelled(30)])
    assert "only the label 'yes'" in advise(place, "one.csv").fault()
    write(place / "three.csv", [("good film", "good"), ("bad film", "bad"), ("a good day", "good")])
    assert "no training example" in advise(place, "three.csv").fault()
    assert "not a budget" in advise(place, "labels.csv", "advice", "--budget", "soon").fault()
    assert "wall clock" in advise(place, "labels.csv", "advice", "--budget", "500").fault()
    assert "nothing can be said in so little time" in advise(place, "labels.csv", "advice", "--budget", "2s").fault()
    german = [f"das ist ein Mann und er geht mit der Frau in das Haus {n}" for n in range(50)]
    (place / "text.txt").write_text("\n".join(german), encoding="utf-8")
    english = [(f"this is what he said of it and the {text}", label) for text, label in labelled(60)]
    write(place / "english.csv", english)
    assert "is German, and the texts of" in advise(place, "english.csv").fault()
    (place / "text.txt").write_text("   \n", encoding="utf-8")
    assert "no text" in advise(place).fault()
    assert "is not there" in run("advise", place / "gone", "--labels", place / "labels.csv").fault()
    assert "needs labels" in run("advise", place / "text.txt", "--for", "tag", "--out", out).fault()
    assert "it can be classify" in run("advise", place / "text.txt", "--for", "sing").fault()
    assert not out.exists()


def test_two_in_one_folder_are_refused(place: Path) -> None:
    out = place / "advice"
    out.mkdir()
    handle = os.open(out, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        assert "another process works in" in advise(place).fault()
    finally:
        os.close(handle)
    (out / "mine.txt").write_text("kept")
    assert "is not empty" in advise(place).fault()
    assert (out / "mine.txt").read_text() == "kept"


def test_labels_that_a_column_gives_away(place: Path) -> None:
    with open(place / "given.csv", "w", newline="", encoding="utf-8") as file:
        rows = [(text, label, f"desk-{label}") for text, label in labelled(80)]
        csv.writer(file).writerows([("text", "label", "desk"), *rows])
    assert "The column 'desk' alone tells 100% of the labels" in advise(place, "given.csv").right()


def test_language_models_are_ranked_without_labels(tmp_path: Path, texts: list[str]) -> None:
    (tmp_path / "text.txt").write_text("\n\n".join(texts), encoding="utf-8")
    said = run("advise", tmp_path / "text.txt", "--budget", "25s", "--out", tmp_path / "models")
    found = json.loads((tmp_path / "models" / "advice.json").read_text())
    assert said.right().splitlines()[-1] == str(tmp_path / "models")
    assert {"bigram", "Kneser-Ney 5"} <= set(found["bits_per_byte"])
    assert found["winner"] == min(
        (one for one in found["bits_per_byte"] if " + " not in one), key=found["bits_per_byte"].__getitem__
    )
    assert (tmp_path / "models" / "winner" / "model" / "config.json").is_file()


def test_vectors_are_judged_by_the_other_half(tmp_path: Path, texts: list[str]) -> None:
    (tmp_path / "text.txt").write_text("\n\n".join(texts * 2), encoding="utf-8")
    run("advise", tmp_path / "text.txt", "--for", "embed", "--budget", "60s", "--out", tmp_path / "vectors").right()
    found = json.loads((tmp_path / "vectors" / "advice.json").read_text())
    assert set(found["mrr"]) == {"TF-IDF", "word vectors of your text"}
    assert max(found["mrr"].values()) > 0.3
