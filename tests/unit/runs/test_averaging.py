"""The mean of saved steps is a model like any other."""

from __future__ import annotations

import json

import pytest
import torch

import foreword
from foreword.basics.messages import Fault
from foreword.evaluate.held_out import Corpus
from foreword.runs.averaging import average, last_steps
from foreword.runs.opening import open_model
from foreword.runs.train import train
from foreword.transfer.finetune import finetune
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task
from tests.tiny import tiny

SAVED = ('training.budget="9"', 'training.save="3"', "training.keep=5")


@pytest.fixture(scope="module")
def run(stores, tmp_path_factory):
    return train(tiny("gpt2", *SAVED), stores["byte_bpe"], tmp_path_factory.mktemp("runs") / "gpt2").path


def weights(path) -> dict[str, torch.Tensor]:
    return {name: weight.detach() for name, weight in open_model(path).model.weights().items()}


def test_the_mean_of_one_is_itself_and_of_copies_too(run, tmp_path):
    for copies in (1, 3, 7):
        made = weights(average([f"{run}@6"] * copies, tmp_path / str(copies)).path)
        assert all(torch.equal(weight, made[name]) for name, weight in weights(f"{run}@6").items())


def test_the_mean_is_that_of_the_steps_in_float64(run, tmp_path):
    steps = last_steps(run, 3)
    assert steps == [f"{run}@3", f"{run}@6", f"{run}@9"]
    for chosen in (steps[:2], steps, steps[::-1]):
        made, each = weights(average(chosen, tmp_path / str(hash(tuple(chosen)))).path), [weights(s) for s in chosen]
        for name, weight in made.items():
            mean = torch.stack([one[name].double() for one in each]).sum(0) / len(each)
            assert weight.dtype == torch.float32
            assert torch.equal(weight, mean.float())
    assert not torch.equal(made["network.norm.weight"], each[0]["network.norm.weight"])


def test_the_mean_opens_like_a_run(run, stores, tmp_path):
    """Scored, continued, and evaluated on the text its steps were trained on; the steps themselves are as they were."""
    before = foreword.load(f"{run}@9").score("a few words").nats
    made = average(last_steps(run, 2), tmp_path / "mean")
    model = foreword.load(made.path)
    assert model.abilities == foreword.load(run).abilities
    assert isinstance(model.generate("The", max_tokens=4), str)
    nats = [foreword.load(path).score("a few words").nats for path in (f"{run}@6", made.path, f"{run}@9")]
    assert len(set(nats)) == 3
    assert nats[2] == before
    assert Corpus.find(None, [str(made.path)], "", "auto", "text", None).path == stores["byte_bpe"].resolve()
    assert json.loads((made.path / "passport.json").read_text())["averaged"] == [f"{run}@6", f"{run}@9"]


def test_a_mean_is_not_trained_over_but_trained_further(run, stores, tmp_path):
    made = average(last_steps(run, 2), tmp_path / "mean").path
    with pytest.raises(Fault, match=r"holds another run: it was begun from the mean of .*@6, .*@9, not from nothing"):
        train(tiny("gpt2", *SAVED), stores["byte_bpe"], made)
    further = train(tiny("gpt2", 'training.budget="1"'), stores["byte_bpe"], tmp_path / "further", start=made)
    assert further.passport()["start"]["path"] == str(made)


def test_two_directions_are_averaged_too(stores, tmp_path):
    run = train(tiny("bert", *SAVED), stores["wordpiece"], tmp_path / "bert").path
    assert "fill" in foreword.load(average(last_steps(run, 3), tmp_path / "mean").path).abilities


def test_seeds_of_a_fine_tuned_model_are_averaged_and_predict(tmp_path):
    whole, base = task("classify", 24, 9, 9), folder("gpt2", tmp_path / "base")
    how = [FinetuneSettings(epochs=2, batch_size=16, learning_rate=3e-3, seed=seed) for seed in (0, 1)]
    runs = [finetune(base, whole, tmp_path / f"seed-{one.seed}", one).path for one in how]
    made = Predictor(average(runs, tmp_path / "mean").path)
    assert made.name == whole.name
    assert set(made.predict(whole.test).labels) <= set(whole.labels)


def test_too_few_steps_are_said_with_what_to_set(run, stores, tmp_path):
    with pytest.raises(
        Fault, match=r"has 3 saved steps \(3, 6, 9\), not 5. It was trained with training.keep=5."
    ) as told:
        last_steps(run, 5)
    assert "--set training.keep=5" in str(told.value)
    assert "--last 3" in str(told.value)
    with pytest.raises(Fault, match="is not a run: it has no saved steps to average"):
        last_steps(run / "model", 2)
    counted = train(tiny("bigram"), stores["byte_bpe"], tmp_path / "bigram").path
    with pytest.raises(Fault, match=r"\(bigram\) learns by counting: it has no saved steps to average"):
        last_steps(counted, 1)
    with pytest.raises(Fault, match="bigram is no network"):
        average([counted, counted], tmp_path / "mean")


def test_only_models_of_one_shape_have_a_mean(run, stores, tmp_path):
    other = train(tiny("gpt2", 'training.budget="1"', "network.layers=1"), stores["byte_bpe"], tmp_path / "other").path
    with pytest.raises(Fault, match=r"differ:  network.layers(.|\n)*only models of one shape"):
        average([f"{run}@9", other], tmp_path / "mean")
    letters = train(tiny("gpt2", 'training.budget="1"'), stores["byte"], tmp_path / "letters").path
    with pytest.raises(Fault, match="different tokenizers"):
        average([f"{run}@9", letters], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
    with pytest.raises(Fault, match="is not empty"):
        average([f"{run}@9"], other)
