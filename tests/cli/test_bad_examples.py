"""Examples that cannot be used, of every kind of task: said with their place and what to do, exit 2, nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.labelled import examples, folder

QUICK = ["--epochs", 1, "--batch-size", 16, "--learning-rate", "3e-3"]
Rows = list[dict[str, Any]]
COLUMNS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "classify": lambda one: {"text": one.texts[0], "label": one.label},
    "pair": lambda one: {"sentence1": one.texts[0], "sentence2": one.texts[1], "label": one.label},
    "similarity": lambda one: {"sentence1": one.texts[0], "sentence2": one.texts[1], "score": one.label},
    "choice": lambda one: {"context": one.texts[0], "choices": list(one.choices), "label": one.label},
    "span": lambda one: {
        "question": one.texts[0],
        "context": one.texts[1],
        "answers": [{"text": span.text, "start": span.start} for span in one.label],
    },
    "tag": lambda one: {"words": [word.text for word in one.words], "tags": list(one.label)},
    "rank": lambda one: {"query": one.texts[0], "candidate": one.texts[1], "relevance": one.label},
}


def rows(kind: str, count: int = 40, seed: int = 0) -> Rows:
    return [COLUMNS[kind](one) for one in examples(kind, count, seed)]


def write(path: Path, some: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")
    return path


def changed(kind: str, **cells: Any) -> Rows:
    """The third row is wrong."""
    some = rows(kind)
    some[2] = {**some[2], **cells}
    return some


def without(kind: str, column: str) -> Rows:
    return [{name: cell for name, cell in row.items() if name != column} for row in rows(kind)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("bert", tmp_path_factory.mktemp("base") / "bert")


BAD: dict[str, tuple[Rows, list[str]]] = {
    "a row without a label": (
        changed("classify", label=""),
        ["bad.jsonl:3", "this row has no label", "Write one, or remove the row."],
    ),
    "one class only": (
        [{**row, "label": "same"} for row in rows("pair")],
        ["bad.jsonl", "only the label 'same'", "at least two"],
    ),
    "a span that is not in its text": (
        changed("span", answers=[{"text": "elephant", "start": 4}]),
        ["bad.jsonl:3", "'elephant' does not stand at character 4", "nor anywhere in it", "Offsets count characters"],
    ),
    "a span at another place": (
        changed("span", context="a film was good", answers=[{"text": "good", "start": 2}]),
        ["bad.jsonl:3", "it stands at 11"],
    ),
    "a tag too few": (changed("tag", tags=["O"]), ["bad.jsonl:3", "1 tags", "Each word needs one tag."]),
    "no words": (changed("tag", words=[], tags=[]), ["bad.jsonl:3", "has no words"]),
    "a score that is no number": (
        changed("similarity", score="much"),
        ["bad.jsonl:3", "'much', which is not a number"],
    ),
    "a relevance that is no number": (
        changed("rank", relevance="very"),
        ["bad.jsonl:3", "'very', which is not a number"],
    ),
    "an empty text": (changed("pair", sentence2=" "), ["bad.jsonl:3", "is empty in this row"]),
    "a row without a column": (
        [*rows("classify"), {"label": "good"}],
        ["bad.jsonl:41", "this row has no 'text'", "Add it, or remove the row."],
    ),
    **{
        f"no {column} of {kind}": (without(kind, column), ["bad.jsonl:1", "do not say what is to be learned"])
        for kind, column in (
            ("classify", "label"),
            ("pair", "label"),
            ("choice", "choices"),
            ("tag", "tags"),
            ("span", "answers"),
        )
    },
    "nothing": ([], ["bad.jsonl", "holds no example"]),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_learned_from(name: str, base: Path, tmp_path: Path) -> None:
    some, words = BAD[name]
    bad, good = write(tmp_path / "bad.jsonl", some), write(tmp_path / "good.jsonl", rows("classify"))
    commands = [
        ["finetune", base, bad, "--out", tmp_path / "run"],
        ["train", "mt-dnn", "--from", base, "--data", good, bad, "--out", tmp_path / "run"],
        ["study", base, bad, "--seeds", 2, "--out", tmp_path / "run"],
        ["probe", bad, "--out", tmp_path / "run"],
    ]
    for command in commands:
        said = run(*command).fault()
        for word in words:
            assert word in said, f"{command[0]}: {said}"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.jsonl", "good.jsonl"}


def test_a_row_whose_right_choice_is_not_there_is_left_out_and_said(base: Path, tmp_path: Path) -> None:
    said = run(
        "finetune", base, write(tmp_path / "some.jsonl", changed("choice", label=9)), "--out", tmp_path / "run", *QUICK
    )
    assert said.code == 0
    assert "1 row was left out: its right answer '9' is not among its 3 choices" in said.err


@pytest.mark.parametrize("kind", ["classify", "pair", "tag"])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_label_that_no_training_example_has(split: str, kind: str, base: Path, tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", rows(kind))
    wrong = (
        {"tags": ["B-GODO", *rows(kind)[2]["tags"][1:]]}
        if kind == "tag"
        else {"label": "godo" if kind == "classify" else "alikes"}
    )
    other = write(tmp_path / "other.jsonl", changed(kind, **wrong))
    said = run("finetune", base, train, f"--{split}", other, "--out", tmp_path / "run", *QUICK).fault()
    label = "B-GODO" if kind == "tag" else wrong["label"]
    assert f"{other}:3\n    the label '{label}' is in {split} but in no training example. Did you mean" in said
    assert "Labels in train:" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_split_that_is_empty_or_has_other_columns(split: str, base: Path, tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", rows("classify"))
    empty = write(tmp_path / "empty.jsonl", [])
    said = run("finetune", base, train, f"--{split}", empty, "--out", tmp_path / "run", *QUICK).fault()
    assert "empty.jsonl" in said
    assert "holds no example" in said
    other = write(tmp_path / "other.jsonl", [{"txt": "a film", "label": "good"}])
    said = run("finetune", base, train, f"--{split}", other, "--out", tmp_path / "run", *QUICK).fault()
    assert f"{other}:1" in said
    assert f"{split} has no column 'text', which train has. Did you mean txt?" in said
    skipped = write(tmp_path / "skipped.jsonl", [{**row, "label": "-"} for row in rows("pair", 4)])
    pairs = write(tmp_path / "pairs.jsonl", rows("pair"))
    said = run("finetune", base, pairs, f"--{split}", skipped, "--out", tmp_path / "run", *QUICK).fault()
    assert f"there is no example for {split}" in said
    assert not (tmp_path / "run").exists()


# --- longer than the context --------------------------------------------------------------------------------------------

LONG = "the film was a good day in the house with a story and it was good " * 6


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_text_that_must_be_read_whole_and_cannot_is_said_before_anything_is_learned(
    split: str, base: Path, tmp_path: Path
) -> None:
    files = {
        name: write(tmp_path / f"{name}.jsonl", changed("classify", text=LONG) if name == split else rows("classify"))
        for name in ("train", "dev", "test")
    }
    words = ["finetune", base, files["train"], "--dev", files["dev"], "--test", files["test"], *QUICK]
    said = run(*words, "--out", tmp_path / "whole", "--set", "batches.keep=all").fault()
    assert "tokens, of which 46 fit" in said
    assert "--set batches.keep=head or tail reads one end of it; batches.windows=true all of it, part by part." in said
    assert not (tmp_path / "whole").exists()
    said = run(*words, "--out", tmp_path / "cut")
    assert said.code == 0
    assert "1 texts did not fit 48 tokens: only their first part is read, " in said.err


def test_what_is_cut_of_new_text_is_said(base: Path, tmp_path: Path) -> None:
    run("finetune", base, write(tmp_path / "train.jsonl", rows("classify")), "--out", tmp_path / "run", *QUICK).right()
    (tmp_path / "new.txt").write_text(f"{LONG}\na film\n", encoding="utf-8")
    for path in (tmp_path / "run", tmp_path / "run" / "model"):
        said = run("predict", path, tmp_path / "new.txt")
        assert said.code == 0
        assert len(said.out.splitlines()) == 2
        assert f"{tmp_path / 'new.txt'}: 1 texts did not fit 48 tokens: only their first part is read, " in said.err
    asked = run("test", tmp_path / "run", write(tmp_path / "other.jsonl", changed("classify", text=LONG)))
    assert asked.code == 0
    assert "run: 1 texts did not fit 48 tokens" in asked.err


# --- new text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("classify", "text"),
        ("pair", "sentence2"),
        ("similarity", "sentence1"),
        ("choice", "choices"),
        ("span", "context"),
        ("tag", "words"),
        ("rank", "candidate"),
    ],
)
def test_predict_names_the_column_that_is_not_there(kind: str, column: str, base: Path, tmp_path: Path) -> None:
    run("finetune", base, write(tmp_path / "train.jsonl", rows(kind)), "--out", tmp_path / "run", *QUICK).right()
    before = {path.name for path in tmp_path.iterdir()}
    lacking = write(tmp_path / "lacking.jsonl", without(kind, column))
    said = run("predict", tmp_path / "run", lacking, "--out", tmp_path / "said.jsonl").fault()
    assert f"{lacking}\n    the rows have no column '{column}'." in said
    empty = write(tmp_path / "empty.jsonl", [])
    assert "holds no example" in run("predict", tmp_path / "run", empty, "--out", tmp_path / "said.jsonl").fault()
    odd = tmp_path / "new.docx"
    odd.write_text("x")
    assert (
        "is of no kind that is read here"
        in run("predict", tmp_path / "run", odd, "--out", tmp_path / "said.jsonl").fault()
    )
    assert {path.name for path in tmp_path.iterdir()} == before | {"lacking.jsonl", "empty.jsonl", "new.docx"}


def test_labels_in_a_file_to_be_labelled_do_not_matter(base: Path, tmp_path: Path) -> None:
    run("finetune", base, write(tmp_path / "train.jsonl", rows("classify")), "--out", tmp_path / "run", *QUICK).right()
    new = [{"text": row["text"]} for row in rows("classify", 6, seed=4)]
    plain = run("predict", tmp_path / "run", write(tmp_path / "plain.jsonl", new)).right()
    assert (
        run(
            "predict",
            tmp_path / "run",
            write(tmp_path / "named.jsonl", [{**row, "label": "never seen"} for row in new]),
        ).right()
        == plain
    )
