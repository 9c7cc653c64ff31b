"""`foreword train --pairs` and `foreword translate`, from two files to BLEU, and what is said of wrong ones."""

from __future__ import annotations

import json

import pytest

from tests.cli.program import TINY, run

WORDS = {"red": "rot", "green": "gruen", "old": "alt", "cat": "Katze", "dog": "Hund", "house": "Haus"}


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts = [f"the {a} {b} number {n}" for n in range(9) for a in list(WORDS)[:3] for b in list(WORDS)[3:]]
    (tmp_path / "a.en").write_text("\n".join(texts) + "\n", encoding="utf-8")
    said = [" ".join(WORDS.get(word, word) for word in text.split()) for text in texts]
    (tmp_path / "a.de").write_text("\n".join(said) + "\n", encoding="utf-8")
    return tmp_path


def test_two_files_train_a_model_that_writes_a_line_for_every_line(pairs):
    small = [*TINY, "--set", "tokenizer.vocabulary=300", "--set", "batches.tokens=64"]
    trained = run("train", "transformer", *small, "--pairs", "a.en", "a.de", "--budget", "3", "--out", "runs/t")
    assert trained.code == 0, trained.err
    done = run("translate", "runs/t", "a.en", "--beam", "2", "--max-tokens", "4", "--references", "a.de", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert len(found["texts"]) == found["lines"] == 81
    assert 0 <= found["bleu"] <= 100
    assert "tok:13a" in found["signature"]
    (pairs / "short.de").write_text("eins\n", encoding="utf-8")
    wrong = run("translate", "runs/t", "a.en", "--references", "short.de")
    assert wrong.code == 2
    assert "a.en has 81 lines, short.de has 1" in wrong.err


def test_wrong_pairs_are_named(pairs):
    (pairs / "short.de").write_text("eins\nzwei\n", encoding="utf-8")
    said = run("train", "transformer", "--pairs", "a.en", "short.de")
    assert said.code == 2
    assert "line 3 of a.en has no partner" in said.err
    assert run("train", "transformer").code == 2
    both = run("train", "transformer", "--pairs", "a.en", "a.de", "--data", "a.en")
    assert both.code == 2
    assert "--pairs train.en train.de" in both.err
