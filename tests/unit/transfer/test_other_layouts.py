"""Networks for which nobody else has a class of this kind: fine-tuned all the same, in a folder of our own layout."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.exchange import hugging_face
from foreword.transfer.finetune import finetune
from foreword.transfer.labelled_run import opened
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task, tokenizer
from tests.tiny import drawn, tiny

SMALL = ["network.layers=2", "network.width=32", "network.heads=2", "network.context=48"]
QUICK = FinetuneSettings(epochs=2, batch_size=16, learning_rate=3e-3)


@pytest.mark.parametrize(
    ("family", "kind"), [("modern-gpt", "classify"), ("gpt3", "choice"), ("gpt1", "tag"), ("gpt1", "span")]
)
def test_a_run_answers_as_it_did(family: str, kind: str, tmp_path: Path) -> None:
    if family == "gpt1":
        base = folder(family, tmp_path / "base")
    else:
        recipe = loader.load(family, "", SMALL)
        torch.manual_seed(0)
        base = tmp_path / "base"
        hugging_face.write(base, recipe, model_for(recipe, tokenizer("gpt2").vocabulary()), tokenizer("gpt2"))
    whole = task(kind, 24, 9, 9)
    run = finetune(base, whole, tmp_path / "run", QUICK)
    config = json.loads((run.model / "config.json").read_text())
    assert config["model_type"] == "foreword"
    lines = [json.loads(line) for line in (run.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    said = Predictor(run.path).predict(list(whole.test))
    answers = [list(one) if isinstance(one, tuple) else one for one in said.labels]
    assert answers == [line["answer"] for line in lines if line["split"] == "test"]


@pytest.mark.parametrize("read", ["place", "ends"])
def test_a_gpt_bert_is_tuned_both_ways(read: str, store, tmp_path: Path) -> None:
    recipe, known = tiny("gpt-bert"), store("tagged").tokenizer
    hugging_face.write(tmp_path / "base", recipe, drawn(recipe, known, 3), known)
    some = task("classify", 24, 9, 9)
    how = replace(QUICK, settings=(f"objective.read={read}",))
    run = finetune(tmp_path / "base", some, tmp_path / "run", how)
    lines = [json.loads(line) for line in (run.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    said = Predictor(run.path).predict(list(some.test)).labels
    assert said == [line["answer"] for line in lines if line["split"] == "test"]


def test_of_an_electra_that_was_trained_here_the_discriminator_is_tuned(store, tmp_path: Path) -> None:
    """Its weights, and nothing of the generator."""
    recipe, known = tiny("electra"), store("wordpiece").tokenizer
    whole = drawn(recipe, known, 3)
    hugging_face.write(tmp_path / "electra", recipe, whole, known)
    loaded = opened(tmp_path / "electra")
    assert loaded.recipe.network.kind == "bidirectional_transformer"
    mine = whole.network.discriminator.state_dict()
    assert all(torch.equal(weight, mine[name]) for name, weight in loaded.model.network.state_dict().items())
    some = task("classify", 16, 6, 6)
    run = finetune(tmp_path / "electra", some, tmp_path / "run", FinetuneSettings(epochs=1, batch_size=8))
    assert run.passport()["finished"]
    assert len(Predictor(run.path).predict(some.test).labels) == 6
