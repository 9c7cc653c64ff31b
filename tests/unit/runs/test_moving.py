import pytest

from foreword.basics.messages import Fault
from foreword.runs.moving import export_model, import_model
from foreword.runs.opening import open_model
from foreword.runs.train import train
from tests.tiny import tiny


def test_a_model_goes_out_and_comes_back(stores, tmp_path):
    run = train(tiny("gpt2", 'training.budget="2"'), stores["byte_bpe"], tmp_path / "run")
    out = export_model(run.path, "hf", tmp_path / "out")
    back, loaded = import_model(out, tmp_path / "back")
    before, after = open_model(run.path), open_model(back.path)
    assert all((weight == after.model.weights()[name]).all() for name, weight in before.model.weights().items())
    assert loaded.recipe.network == before.recipe.network.model_copy(
        update={"dropout": loaded.recipe.network.dropout, "initial": loaded.recipe.network.initial}
    )
    for call in (lambda: export_model(run.path, "hf", tmp_path / "out"), lambda: import_model(out, tmp_path / "back")):
        with pytest.raises(Fault, match="Choose another --out"):
            call()


def test_forms_that_do_not_fit_are_refused(stores, tmp_path):
    run = train(tiny("bigram"), stores["byte_bpe"], tmp_path / "bigram")
    with pytest.raises(Fault, match="Did you mean arpa"):
        export_model(run.path, "arap", tmp_path / "x")
    with pytest.raises(Fault, match="transformers has no class"):
        export_model(run.path, "hf", tmp_path / "x")
    with pytest.raises(Fault, match="not a model of counts with back-off"):
        export_model(run.path, "arpa", tmp_path / "x")
    assert not (tmp_path / "x").exists()
