"""Zero-shot scores go into metrics.jsonl as training goes on, and onto the run's page; training itself does not change."""

from __future__ import annotations

import json

import pytest
import torch

from foreword.basics.messages import Fault
from foreword.evaluate.prompted import run_task
from foreword.evaluate.requests import PromptedModel
from foreword.evaluate.while_training import ZeroShot, training_report
from foreword.runs.opening import TrainedModel, open_model
from foreword.runs.train import train
from foreword.tasks.task import load
from tests.tiny import tiny

FILE = """name = "opposites"
[source]
kind = "jsonl"
test = "opposites.jsonl"
[request]
kind = "choice"
context = "{word} is not"
choices = "{choices}"
gold = "{gold}"
"""


@pytest.fixture
def task(tmp_path):
    rows = [
        {"word": word, "choices": [word[::-1], "other", "this one"], "gold": place % 3}
        for place, word in enumerate(
            ("true", "false", "open", "class", "value", "function", "module", "import", "raise", "yield")
        )
    ]
    (tmp_path / "opposites.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "opposites.toml").write_text(FILE, encoding="utf-8")
    return str(tmp_path / "opposites.toml")


@pytest.mark.parametrize("name", ["gpt2", "lstm"])
def test_every_evaluation_asks_and_nothing_else_changes(task, stores, tmp_path, name):
    recipe = tiny(name, 'training.save="4"', "training.keep=9")
    run = train(recipe, stores["byte_bpe"], tmp_path / "asked", ask=ZeroShot([task], recipe, 9))
    plain = train(recipe, stores["byte_bpe"], tmp_path / "plain")
    evaluated = [one for one in run.metrics() if "valid" in one]
    assert [one["step"] for one in evaluated] == [4, 8, 9]
    assert all(set(one["asked"]["opposites"]) == {"accuracy", "chance"} for one in evaluated)
    assert evaluated[0]["asked"]["opposites"]["chance"] == pytest.approx(1 / 3)
    with_and_without = [
        [
            {
                key: value
                for key, value in record.items()
                if key not in ("asked", "seconds", "tokens_per_second", "pace")
            }
            for record in one.metrics()
        ]
        for one in (run, plain)
    ]
    assert [r.get("valid") for r in with_and_without[0]] == [r.get("valid") for r in with_and_without[1]]
    first, second = open_model(run.path).model.weights(), open_model(plain.path).model.weights()
    assert all(torch.equal(weight, second[key]) for key, weight in first.items()), (
        "dropout and chance went on as they would have"
    )

    saved = TrainedModel.opened(f"{run.path}@4")
    outcome = run_task(load(task)[0], PromptedModel("", saved.language_model, saved.tokenizer), 0, 9)
    assert evaluated[0]["asked"]["opposites"]["accuracy"] == outcome.value("accuracy"), (
        "the saved step gives the same answers"
    )


def test_the_page_draws_what_was_asked(task, stores, tmp_path):
    recipe = tiny("gpt2")
    run = train(recipe, stores["byte_bpe"], tmp_path / "run", ask=ZeroShot([task], recipe))
    page = training_report(run).save(run.path).read_text(encoding="utf-8")
    assert page.count("<svg") == 2, "held-out text, and accuracy"
    assert "opposites" in page
    assert "what guessing gives" in page
    plain = train(recipe, stores["byte_bpe"], tmp_path / "plain")
    assert training_report(plain).html().count("<svg") == 1


def test_what_cannot_be_asked_is_said_before_training(task):
    with pytest.raises(Fault, match="bert does not predict next tokens"):
        ZeroShot([task], tiny("bert"))
    with pytest.raises(Fault, match="lambda"):
        ZeroShot(["lambda"], tiny("gpt2"))
