"""`foreword cloze`, `rank`, `recl` and `senses`, which were modes of `foreword evaluate`, and what the old place says."""

from __future__ import annotations

import json

import pytest

from tests.cli.program import run


def test_hidden_tokens_are_the_same_for_every_model(made) -> None:
    bert = made("bert")
    found = json.loads(run("cloze", bert, bert, "--hidden", 0.2, "--limit", 4000, "--json").right())
    assert str(bert) in json.dumps(found)
    assert "fill" in run("cloze", made("gpt2")).fault()


def test_entities_are_hidden_as_a_whole(made, tmp_path) -> None:
    file = tmp_path / "entities.jsonl"
    rows = [{"text": "The class statement defines a class.", "entities": [[4, 9]]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "entities.jsonl" in run("cloze", made("bert"), file).right()
    assert f"foreword cloze {made('bert')} {file}" in run("evaluate", made("bert"), file).fault()
    assert "is not there" in run("cloze", made("bert"), tmp_path / "gone.jsonl").fault()
    assert "at least one run or model folder" in run("cloze", file).fault()


def test_candidates_are_ranked(made, tmp_path) -> None:
    file = tmp_path / "candidates.jsonl"
    rows = [
        {"query": "a class", "candidate": "a class of objects", "relevance": 1},
        {"query": "a class", "candidate": "an import", "relevance": 0},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "candidates.jsonl" in run("rank", made("gpt2"), file).right()
    assert f"foreword rank {made('gpt2')} candidates.jsonl" in run("rank", made("gpt2")).fault()
    assert f"foreword rank {made('gpt2')} {file}" in run("evaluate", made("gpt2"), file).fault()


def test_how_far_back_a_model_gains(made) -> None:
    assert "effective context" in run("recl", made("gpt2"), "--context", 64, "--split", "train").right()
    assert "give at least" in run("recl", made("gpt2"), "--context", 1).fault()


def test_a_word_in_two_sentences(made, tmp_path) -> None:
    file = tmp_path / "sentences.txt"
    file.write_text("a class is defined\nthe class has a name\n", encoding="utf-8")
    found = json.loads(run("senses", "class", made("gpt2"), "--data", file, "--json").right())
    assert found["cosines"][str(made("gpt2"))][0][0] == pytest.approx(1.0, abs=1e-4)
    assert "one to a line" in run("senses", "class", made("gpt2"), "--data", tmp_path / "gone.txt").fault()


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["evaluate", "x", "--hidden", "0.1"], "foreword cloze"),
        (["evaluate", "x", "--context=64"], "foreword recl"),
        (["evaluate", "x", "--word", "bank"], "foreword senses"),
        (["tokens", "x", "--phrases", "0.5", "--out", "y"], "foreword marks"),
        (["train", "transformer", "--encoder-from", "x"], "--from encoder=RUN"),
        (["train", "gpt2", "--tensorboard"], "--set tensorboard=true"),
        (["finetune", "x", "y", "--network", "lstm"], "--set network=RECIPE"),
        (["finetune", "x", "y", "--self-train", "z"], "--set self_train=TEXT"),
        (["study", "x", "y", "--ensemble"], "--set ensemble=true"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_option_that_moved_names_its_new_place(words, place) -> None:
    assert place in run(*words).fault()


def test_one_model_or_two_halves(made) -> None:
    fault = run("train", "transformer", "--data", "x", "--from", "a", "--from", "encoder=b").fault()
    assert fault.startswith("--from is one model, or an encoder and a decoder.")
