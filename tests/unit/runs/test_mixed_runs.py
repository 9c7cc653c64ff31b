"""Runs on a mixture, with a growing batch: resumed they end as unbroken ones, and every source is accounted for."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from foreword.basics.messages import Fault
from foreword.batches.mixture import MixtureSource
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.tokens.build import build_store
from foreword.tokens.store import TokenStore
from tests.tiny import documents, interrupted_at, tiny

RAMP = ('training.ramp={ start = 2, over = "500tok" }', 'training.schedule.warmup="600tok"', 'training.budget="4ktok"')


@pytest.fixture(scope="module")
def sources(stores, tmp_path_factory) -> list[MixtureSource]:
    """The session's store with three quarters, and a smaller one of the other half of its text, in one tokenizer."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "small.txt").write_text(
        "\n\n".join(text.replace("\n", " ") for text in list(documents())[:12]), encoding="utf-8"
    )
    build_store(
        [folder / "small.txt"],
        folder / "small",
        TokenStore.open(stores["byte_bpe"]).tokenizer,
        documents="paragraph",
        fractions=(0.6, 0.2, 0.2),
    )
    return [MixtureSource("large", stores["byte_bpe"], 3.0), MixtureSource("small", folder / "small", 1.0)]


def records(run: RunFolder) -> list[dict]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in run.metrics()]


@pytest.mark.parametrize("more", [(), RAMP], ids=["even", "ramp"])
def test_a_resumed_run_equals_an_unbroken_one(sources, tmp_path, monkeypatch, more):
    recipe = tiny("gpt2", *more)
    unbroken = train(recipe, sources, tmp_path / "unbroken")
    with interrupted_at(4, monkeypatch):
        train(recipe, sources, tmp_path / "stopped")
    resumed = train(recipe, sources, tmp_path / "stopped")
    assert records(resumed) == records(unbroken)
    one, other = (load_file(run.model / "model.safetensors") for run in (unbroken, resumed))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_was_read_of_each_source_is_told(sources, tmp_path, capsys):
    recipe = tiny("gpt2", 'training.budget="300"', "training.log=100", 'training.evaluate="150"', 'training.save="300"')
    run = train(recipe, sources, tmp_path / "run")
    passport, rows, length = run.passport(), 300 * 8, 32
    told = passport["sources"]
    assert [one["name"] for one in told] == ["large", "small"]
    assert [one["weight"] for one in told] == [0.75, 0.25]
    assert sum(one["rows"] for one in told) == rows
    for one, source in zip(told, sources):
        tokens = TokenStore.open(source.folder).tokens
        assert one["tokens"] == tokens
        assert one["epochs"] == one["rows"] / ((tokens - 1) // length)
        assert one["rows"] == pytest.approx(rows * one["weight"], abs=50)
    assert "store" not in passport
    logged = [record for record in run.metrics() if "loss" in record]
    assert logged[-1]["epochs"] == {one["name"]: one["epochs"] for one in told}
    assert f"small {told[1]['epochs']:.2f} epochs" in capsys.readouterr().err
    card = (run.model / "README.md").read_text()
    assert "| large | 75.0% |" in card
    for record in (record for record in run.metrics() if "valid" in record):
        each = [record["sources"][name]["nll.tokens"] for name in ("large", "small")]
        assert each[0] != each[1]
        assert record["valid"]["nll.tokens"] == pytest.approx(0.75 * each[0] + 0.25 * each[1])
    assert passport["best"]["valid"] == min(
        record["valid"]["nll.tokens"] for record in run.metrics() if "valid" in record
    )


def test_other_weights_are_another_run(sources, tmp_path):
    recipe = tiny("gpt2")
    train(recipe, sources, tmp_path / "run")
    again = [MixtureSource("large", sources[0].folder, 30.0), MixtureSource("renamed", sources[1].folder, 10.0)]
    train(recipe, again, tmp_path / "run")  # the same shares of the same text
    with pytest.raises(Fault, match="holds another run"):
        train(recipe, [again[0], MixtureSource("small", sources[1].folder, 11.0)], tmp_path / "run")


def test_a_growing_batch_keeps_to_a_budget_of_tokens(stores, tmp_path):
    recipe = tiny("gpt2", *RAMP, "training.log=1")
    run = train(recipe, stores["byte_bpe"], tmp_path / "run")
    logged = [record for record in run.metrics() if "loss" in record]
    batches = [record["batch_tokens"] for record in logged]
    assert batches[0] == 2 * 32
    assert batches[-1] == 8 * 32
    assert batches == sorted(batches)
    assert [record["tokens"] for record in logged] == [sum(batches[: n + 1]) for n in range(len(batches))]
    assert 4000 <= run.passport()["tokens"] < 4000 + 8 * 32
    for before, record in zip([0, *(record["tokens"] for record in logged)], logged):
        if before < 600:
            assert record["learning_rate"] == pytest.approx(
                recipe.training.optimizer.learning_rate * max(before / 600, 1e-3)
            )


@pytest.mark.parametrize("name", ["bigram", "bert"])
def test_counts_and_pairs_are_mixed_too(name, stores, tmp_path):
    recipe = tiny(name)
    folder = stores["wordpiece" if name == "bert" else "byte_bpe"]
    run = train(recipe, [MixtureSource("one", folder, 2.0), MixtureSource("other", folder, 1.0)], tmp_path / "run")
    told = run.passport()["sources"]
    assert told[0]["rows"] > told[1]["rows"] > 0


def test_lanes_neither_grow_nor_mix(stores, tmp_path):
    with pytest.raises(Fault, match="their batches cannot grow"):
        tiny("lstm", 'training.ramp={ start = 2, over = "1ktok" }')
    with pytest.raises(Fault, match="cannot be mixed"):
        train(
            tiny("lstm"),
            [MixtureSource("one", stores["byte_bpe"], 1.0), MixtureSource("two", stores["byte_bpe"], 1.0)],
            tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_a_ramp_is_checked_with_the_recipe():
    with pytest.raises(Fault) as caught:
        tiny("gpt2", 'training.ramp={ start = 0, over = "7 days" }')
    assert "a ramp starts with at least 1 row (it says 0)" in str(caught.value)
    assert "ramp.over is written in tokens" in str(caught.value)
