"""A pretrained encoder and decoder as the halves of one model: every weight in its place, and what is new is named."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from foreword.basics.messages import Fault
from foreword.exchange import hugging_face
from foreword.networks.base import Inputs
from foreword.runs.halves import Halves
from foreword.runs.train import train
from tests.tiny import drawn, tiny


@pytest.fixture
def folder(stores, store, tmp_path):
    """A model folder of a tiny recipe, all with the tokens of the dialogues."""

    def made(name: str, *settings: str) -> Path:
        out = tmp_path / "-".join((name, *settings)).replace("/", "")
        recipe = tiny(name, *settings)
        if not out.exists():
            tokenizer = store("dialogues").tokenizer
            hugging_face.write(out, recipe, drawn(recipe, tokenizer, seed=len(name)), tokenizer)
        return out

    return made


def begun(halves: Halves, store):
    recipe = halves.recipe(tiny("transformer"))
    model = drawn(recipe, store("dialogues").tokenizer)
    start = halves.give(model, store("dialogues").tokenizer)
    return recipe, model.eval(), start


def test_the_encoder_reads_as_the_pretrained_model_does(folder, store):
    halves = Halves(folder("bert"), folder("gpt2"))
    _, model, _ = begun(halves, store)
    theirs = hugging_face.read(folder("bert")).model.network.eval()
    ids = torch.arange(6, 13)[None]
    found = []
    model.network.encoder_norm.register_forward_hook(lambda part, given, made: found.append(made))
    with torch.no_grad():
        model.network(Inputs(ids[:, :2], source=ids))
        assert torch.allclose(found[0], theirs(Inputs(ids)).last, atol=1e-5)


def test_the_decoder_writes_as_the_pretrained_model_does_until_it_looks_at_the_source(folder, store):
    halves = Halves(folder("bert"), folder("gpt2"))
    _, model, _ = begun(halves, store)
    theirs = hugging_face.read(folder("gpt2")).model.eval()
    ids, source = torch.arange(20, 27)[None], torch.arange(6, 11)[None]
    with torch.no_grad():
        seen = model.network(Inputs(ids, source=source)).last
        assert not torch.allclose(seen, theirs.network(Inputs(ids)).last, atol=1e-3), "it does not look at the source"
        for block in model.network.decoder:
            block.cross.out.weight.zero_()
            block.cross.out.bias.zero_()
        blind = model.network(Inputs(ids, source=source)).last
        assert torch.allclose(blind, theirs.network(Inputs(ids)).last, atol=1e-5)
        assert torch.allclose(model.heads["tokens"].logits(blind), theirs.heads["tokens"].logits(blind), atol=1e-4)


def test_what_is_new_is_named(folder, store, capsys):
    begun(Halves(folder("bert"), folder("gpt2")), store)
    assert "new: decoder's cross-attention" in capsys.readouterr().err


def test_one_half_gives_the_other_its_shape(folder, store, capsys):
    recipe, _, _ = begun(Halves(encoder=folder("bert")), store)
    assert (recipe.network.target, recipe.network.norm, recipe.network.activation) == (None, "after", "gelu_erf")
    assert "new: decoder, decoder's cross-attention" in capsys.readouterr().err
    recipe, _, _ = begun(Halves(decoder=folder("gpt2")), store)
    assert recipe.network.norm == "before"


def test_a_run_of_halves_learns_and_goes_on(folder, stores, tmp_path):
    halves = Halves(folder("bert"), folder("gpt2"))
    recipe = halves.recipe(tiny("transformer", 'training.budget="3"'))
    run = train(recipe, stores["dialogues"], tmp_path / "run", start=halves)
    assert run.passport()["start"]["path"].count(" and ") == 1
    assert run.recipe() == recipe
    train(recipe, stores["dialogues"], tmp_path / "run", start=halves)
    with pytest.raises(Fault, match="begun from"):
        train(recipe, stores["dialogues"], tmp_path / "run")


def test_halves_that_do_not_fit_are_named(folder):
    with pytest.raises(Fault, match="both ways, as bert does"):
        Halves(encoder=folder("gpt2")).recipe(tiny("transformer"))
    with pytest.raises(Fault, match="from left to right, as gpt2 does"):
        Halves(decoder=folder("bert")).recipe(tiny("transformer"))
    with pytest.raises(Fault, match="width=48 48: the decoder could not look"):
        Halves(folder("bert"), folder("gpt2", "network.width=48")).recipe(tiny("transformer"))
    with pytest.raises(Fault, match="no encoder and decoder"):
        Halves(folder("bert")).recipe(tiny("gpt2"))
