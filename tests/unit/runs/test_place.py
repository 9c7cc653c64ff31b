"""A saved step is a model: runs/x@12000 opens like a run."""

from __future__ import annotations

import pytest
import torch

import foreword
from foreword.basics.messages import Fault
from foreword.evaluate.held_out import Corpus
from foreword.runs.opening import open_model
from foreword.runs.place import ModelPlace, is_model, model_place, saved_steps
from foreword.runs.train import train
from tests.tiny import tiny


@pytest.fixture(scope="module")
def run(stores, tmp_path_factory):
    recipe = tiny("gpt2", 'training.budget="9"', 'training.save="3"', "training.keep=5")
    return train(recipe, stores["byte_bpe"], tmp_path_factory.mktemp("runs") / "gpt2")


def test_every_saved_step_opens_with_its_own_weights(run):
    assert saved_steps(run.path) == [3, 6, 9]
    seen = []
    for step in (3, 6, 9):
        model = foreword.load(f"{run.path}@{step}")
        saved, progress = run.saved(model_place(f"{run.path}@{step}").checkpoint)
        assert progress.step == step
        assert all(torch.equal(weight, saved[f"model/{name}"]) for name, weight in model.model.weights().items())
        assert model.name == f"{run.path}@{step}"
        assert isinstance(model.generate("The", max_tokens=4), str)
        seen.append(model.score("a few words").nats)
    assert len(set(seen)) == 3


def test_a_step_is_evaluated_on_the_runs_own_text(run, stores):
    assert Corpus.find(None, [f"{run.path}@6"], "", "auto", "text", None).path == stores["byte_bpe"].resolve()


def test_steps_that_are_not_there_are_said_with_those_that_are(run, tmp_path):
    assert is_model(f"{run.path}@6")
    assert not is_model(f"{run.path}@7")
    with pytest.raises(Fault, match=r"has no step 7. Steps there are: 3, 6, 9.\n.*training.keep"):
        foreword.load(f"{run.path}@7")
    for path in (f"{tmp_path}/nowhere@3", f"{run.path}@last", f"{tmp_path}/nowhere"):
        with pytest.raises(Fault, match=r"is not there.\n.*runs/NAME@STEP"):
            model_place(path)
    (tmp_path / "a@3").mkdir()
    assert model_place(tmp_path / "a@3") == ModelPlace(tmp_path / "a@3"), "a folder of that name is what is meant"


def test_steps_of_counting_are_no_models(stores, tmp_path):
    counted = train(tiny("bigram"), stores["byte_bpe"], tmp_path / "bigram")
    with pytest.raises(
        Fault, match=r"bigram\) counts: its saved steps are counts so far, not models.\n.*Leave out the step"
    ):
        open_model(f"{counted.path}@{saved_steps(counted.path)[-1]}")
