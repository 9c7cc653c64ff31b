import pytest

from foreword.basics.messages import Fault
from foreword.runs.moving import bring_in, send_out
from foreword.runs.opening import open_model
from foreword.runs.train import train
from tests.tiny import tiny


def test_a_model_goes_out_and_comes_back(stores, tmp_path):
    run = train(tiny("gpt2", 'training.budget="2"'), stores["byte_bpe"], tmp_path / "run")
    out = send_out(run.path, "hf", tmp_path / "out")
    back, loaded = bring_in(out, tmp_path / "back")
    before, after = open_model(run.path), open_model(back.path)
    assert all((weight == after.model.weights()[name]).all() for name, weight in before.model.weights().items())
    assert loaded.recipe.network == before.recipe.network.model_copy(
        update={"dropout": loaded.recipe.network.dropout, "initial": loaded.recipe.network.initial}
    )
    for call in (lambda: send_out(run.path, "hf", tmp_path / "out"), lambda: bring_in(out, tmp_path / "back")):
        with pytest.raises(Fault, match="Choose another --out"):
            call()


def test_forms_that_do_not_fit_are_refused(stores, tmp_path):
    run = train(tiny("bigram"), stores["byte_bpe"], tmp_path / "bigram")
    with pytest.raises(Fault, match="Did you mean arpa"):
        send_out(run.path, "arap", tmp_path / "x")
    with pytest.raises(Fault, match="transformers has no class"):
        send_out(run.path, "hf", tmp_path / "x")
    with pytest.raises(Fault, match="not a model of counts with back-off"):
        send_out(run.path, "arpa", tmp_path / "x")
    assert not (tmp_path / "x").exists()
