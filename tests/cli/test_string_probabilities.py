"""Minimal pairs, rescoring and selection from end to end, and what is said when they cannot be done."""

from __future__ import annotations

import json

import pytest

from tests.cli.program import run


@pytest.mark.parametrize("name", ["kneser-ney", "gpt2"])
def test_minimal_pairs_of_a_file(made, tmp_path, name):
    path = tmp_path / "pairs.tsv"
    path.write_text("good\tbad\nthe value of the expression\texpression the of value the\nif it is\tif is it\n")
    (score,) = json.loads(run("evaluate", made(name), path, "--json").right())["scores"]
    assert set(score["metrics"]) == {"accuracy", "accuracy, byte", "accuracy, unigram"}
    assert score["chance"] == 0.5


def test_a_file_that_is_no_file_of_pairs(made, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na,b\n")
    said = run("evaluate", made("kneser-ney"), path).fault()
    assert said.startswith(f"{path}:1\n    the columns 'text', 'label' are not those of minimal pairs.")


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "lists.jsonl"
    row = {
        "ref": "the value of the expression",
        "hyps": [
            {"text": "the valley off thee expression", "score": -1.0},
            {"text": "the value of the expression", "score": -1.5},
        ],
    }
    path.write_text((json.dumps(row) + "\n") * 3)
    return path


def test_rescoring_says_before_after_and_oracle(made, lists, tmp_path):
    model = made("kneser-ney")
    out = tmp_path / "chosen.jsonl"
    found = json.loads(run("rescore", lists, "--lm", model, "--dev", lists, "--out", out, "--json").right())
    assert (found["before"], found["oracle"], found["worst"]) == (60, 0, 60)
    assert found[str(model)]["after"] == 0
    assert json.loads(out.read_text().splitlines()[0]) == {"text": "the value of the expression"}
    found = json.loads(run("rescore", lists, "--lm", model, "--weight", 0, "--json").right())
    assert found[str(model)]["after"] == 60


def test_rescoring_that_cannot_be_done(made, lists, tmp_path):
    model = made("kneser-ney")
    assert "fitted on --dev, or given" in run("rescore", lists, "--lm", model).fault()
    assert "fitted on --dev, or given" in run("rescore", lists, "--lm", model, "--dev", lists, "--weight", 1).fault()
    assert (
        "there is no metric 'were'" in run("rescore", lists, "--lm", model, "--weight", 1, "--metric", "were").fault()
    )
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"ref": "a", "hyps": [{"text": "a"}]}\n')
    said = run("rescore", bare, "--lm", model, "--weight", 1).fault()
    assert said.startswith(f"{bare}:1\n    hypothesis 1 has no score: 'score' must be a number (it says None).")


def test_the_text_that_resembles_a_sample_is_written(text, texts, tmp_path):
    sample, out = tmp_path / "sample.jsonl", tmp_path / "selected.jsonl"
    sample.write_text("".join(json.dumps({"text": one}) + "\n" for one in texts[:40]))
    found = json.loads(run("corpus", "select", text, "--like", sample, "--keep", 0.2, "--out", out, "--json").right())
    kept = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert found["kept"] == len(kept) > 0
    assert found["words"] <= 0.2 * sum(len(one.split()) for one in texts)
    assert all(one["text"] in texts for one in kept)
    assert sum(one["text"] in texts[:40] for one in kept) > len(kept) / 2
