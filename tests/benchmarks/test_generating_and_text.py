"""Generation, encoding and counting as they are measured: everyone does the same work, and all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import counts, generate, tokens
from benchmarks.race import race
from benchmarks.shapes import SHAPES, model_of
from benchmarks.texts import documents, wikitext

TINY = SHAPES["tiny"]


@pytest.mark.parametrize("size", [300, 50257])
def test_a_tokenizer_of_any_size(size):
    tokenizer = generate.tokenizer_of(size)
    assert len(tokenizer) == size
    assert tokenizer.special("[end]") == size - 1
    assert tokenizer.decode(tokenizer.encode("plain text, ünd mehr")) == "plain text, ünd mehr"
    assert len(set(tokenizer.pieces(range(size)))) == size


def test_everyone_writes_the_same_text_of_the_same_length(tmp_path):
    model = model_of(TINY, generate.CONTEXT).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    given = generate.prompts(TINY, 3)
    assert {len(prompt) for prompt in given} == {generate.PROMPT}
    found = {who: write(given) for who, write in generate.writers_of(TINY, model, tmp_path).items()}
    for who, rows in found.items():
        assert [len(row) for row in rows] == [generate.NEW] * 3, who
        if who.endswith("float32"):
            assert rows == found["ours, float32"], who
    assert len(set(found["ours, float32"][0])) > 2, "a text of one token would hide much"


def test_what_bounds_generation_by_hand():
    kept = 2 * TINY.layers * TINY.width * 4 * (generate.PROMPT + generate.NEW / 2)
    pace, bound = generate.fastest(TINY, 1000, 1, False, 1e6, 1e12)
    assert pace == pytest.approx(1e6 / (4000 + kept))
    assert bound == "memory"
    assert generate.fastest(TINY, 1000, 4, False, 1e12, 1e6) == (pytest.approx(1e6 / 2000), "arithmetic")
    assert generate.fastest(TINY, 1000, 2, True, 1e6, 1.0)[0] == pytest.approx(2e6 / (1000 + 2 * kept))


def test_a_small_race_of_writers(monkeypatch):
    monkeypatch.setattr(generate, "NEW", 6)
    monkeypatch.setattr(generate.limits, "gemm_flops", lambda: 1e9)
    monkeypatch.setattr(generate, "race", lambda work, rounds: race(work, rounds, 0.0))
    found = generate.measure("tiny", (1, 2), 1)
    assert {(one["batch"], one["who"]) for one in found["figures"]} >= {(1, "ours, float32"), (2, "ours, float32")}
    for one in found["figures"]:
        assert one["share"] == pytest.approx(one["best"] / one["limit"])
    assert sum("tokens/s best" in line for line in generate.lines(found)) == len(found["figures"])
    json.dumps(found)


# --- text ------------------------------------------------------------------------------------------------------------


def test_text_is_repeated_until_there_is_enough(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name} " * 500, encoding="utf-8")
    found = documents(0.01, [tmp_path])
    assert 10_000 <= sum(map(len, found)) < 11_500
    assert len(set(found)) == len(found), "no two are alike"
    assert found[2].startswith("1 a")
    assert len(documents(0.001, [tmp_path])) == 1


def test_text_of_any_machine():
    assert sum(len(text.encode()) for text in documents(0.2)) >= 200_000


def test_wikitext_only_where_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("FOREWORD_DATA", raising=False)
    assert wikitext() is None
    monkeypatch.setenv("FOREWORD_DATA", str(tmp_path))
    assert wikitext() is None
    (tmp_path / "wikitext-2").mkdir()
    (tmp_path / "wikitext-2" / "train.part1.txt").write_text(
        " = One = \n a b\n = = Part = = \n c\n = Two = \n d\n", encoding="utf-8"
    )
    assert [article.split()[1] for article in wikitext() or []] == ["One", "Two"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for number, text in enumerate(documents(0.06)):
        (tmp_path / f"{number:03d}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_small_race_of_encoders(small):
    found = tokens.measure(0.06, [small], rounds=1, workers=[1], vocabulary=400)
    assert set(found["candidates"]) >= {
        "tokenizers alone",
        "into a store, 1 worker, without marks",
        "into a store, 1 worker, with marks",
    }
    for one in found["candidates"].values():
        assert one["per_core_second"] >= one["per_core_second_median"] > 0
    assert len(list(tokens.lines(found))) == 1 + len(found["candidates"])
    json.dumps(found)


def test_a_small_count(small):
    found = counts.measure(0.06, [small], rounds=1)
    assert found["text"] == "your text"
    assert found["tokens"] > 5000
    both = sum(one["first_core_seconds"] for one in found["candidates"].values())
    assert found["both_at_first"] == pytest.approx(found["tokens"] / both)
    assert "quoted" in list(counts.lines(found))[-1]
    json.dumps(found)
