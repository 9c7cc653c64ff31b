"""Shapes: what a token costs, checked by hand, and that every candidate trains the same model on the same batch."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from benchmarks import peers, train
from benchmarks.shapes import ALL, QUICK, SHAPES, batch_for, counted, model_of, recipe_for, shape_called
from foreword.basics.messages import Fault
from foreword.networks.base import Inputs
from foreword.objectives.base import NOTHING

TINY = SHAPES["tiny"]
# nanoGPT's words for ours, within a block
BLOCK = {
    "first.norm": "first",
    "second.norm": "second",
    "attention.project": "project",
    "attention.out": "out",
    "feedforward.inner": "inner",
    "feedforward.out": "outer",
}


def test_the_cost_of_a_token_by_hand():
    shape = SHAPES["10m"]
    width, layers = 384, 6
    block = 12 * width**2 + 13 * width  # 3 + 1 + 4 + 4 squares; biases 3 + 1 + 4 + 1, two norms of 2
    parameters, head = counted(model_of(shape))
    assert parameters == 8192 * width + layers * block + 2 * width
    assert head == 8192 * width
    assert shape.flops_per_token(parameters, head) == 6 * parameters + 12 * layers * width * 256


def test_a_masked_model_pays_for_its_head_only_where_it_guesses():
    shape = replace(SHAPES["tiny-bert"], positions=20, rate=0.15)
    assert shape.guesses == 3
    assert shape.flops_per_token(1000, 400) == pytest.approx(6 * (600 + 400 * 3 / 20) + 12 * 2 * 32 * 20)
    parameters, head = counted(model_of(shape))
    assert head == 300 * 32 + 300 + 32**2 + 32 + 2 * 32  # the table, a bias for each token, a dense layer, a norm
    assert parameters > head


@pytest.mark.parametrize("name", ["tiny", "tiny-bert"])
def test_batches_are_what_the_shape_says(name):
    shape = SHAPES[name]
    batch, again = batch_for(shape), batch_for(shape)
    assert batch.inputs.ids.shape == (shape.batch, shape.positions)
    assert batch.tokens == shape.tokens
    assert batch.guesses == {"tokens": shape.batch * shape.guesses}
    assert torch.equal(batch.inputs.ids, again.inputs.ids)
    assert torch.equal(batch.targets["tokens"], again.targets["tokens"])
    assert batch.inputs.ids.max() < shape.vocabulary
    if name == "tiny":
        assert torch.equal(batch.inputs.ids[:, 1:], batch.targets["tokens"][:, :-1])


def test_no_candidate_has_dropout():
    for name in ("tiny", "tiny-bert"):
        assert not any(recipe_for(SHAPES[name]).network.dropout.model_dump().values())


def test_a_shape_that_is_not_there():
    with pytest.raises(Fault, match=r"no shape is called '10n'. Did you mean 10m\?"):
        shape_called("10n")
    assert set(QUICK) < set(ALL) < set(SHAPES)


# --- peers -----------------------------------------------------------------------------------------------------------


def copied(shape):
    """Our model, and nanoGPT's with its weights."""
    ours, theirs = model_of(shape), peers.PlainGPT(shape)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    weights = ours.weights()

    def name_of(theirs_name: str) -> str:
        parts = theirs_name.split(".")
        if parts[0] == "blocks":
            mine = next(one for one, other in BLOCK.items() if other == parts[2])
            return f"network.blocks.{parts[1]}.{mine}.{parts[3]}"
        return f"network.{theirs_name}" if parts[0] == "norm" else f"network.embeddings.{theirs_name}"

    own = dict(theirs.named_parameters())
    assert len(own) == len(weights), "every weight has a place"
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name_of(name)])
    return ours.eval(), theirs.eval()


def test_the_plain_gpt_is_gpt2():
    ours, theirs = copied(TINY)
    ids = batch_for(TINY).inputs.ids
    with torch.no_grad():
        expected = ours.heads["tokens"].logits(ours.network(Inputs(ids)).last)
        torch.testing.assert_close(theirs(ids), expected, rtol=1e-4, atol=1e-4)


def test_a_peers_loss_is_ours():
    ours, theirs = copied(TINY)
    batch = batch_for(TINY)
    loss = recipe_for(TINY).objective.loss(ours, batch)
    mean = loss.charges["tokens"].total / batch.guesses["tokens"]
    torch.testing.assert_close(
        peers.WithLoss(theirs)(batch.inputs.ids, batch.targets["tokens"]), mean, rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", ["tiny", "tiny-bert"])
def test_hugging_face_has_the_same_model_and_batch(name):
    pytest.importorskip("transformers")
    shape = SHAPES[name]
    theirs, given = peers.hugging_face_model(shape), peers.hugging_face_batch(shape)
    assert sum(parameter.numel() for parameter in theirs.parameters()) == model_of(shape).parameter_count()
    assert torch.equal(given["input_ids"], batch_for(shape).inputs.ids)
    if name == "tiny-bert":
        targets = batch_for(shape).targets["tokens"]
        assert torch.equal(given["labels"] == peers.IGNORED, targets == NOTHING)


@pytest.mark.parametrize("best", [False, True], ids=["eager", "best"])
def test_a_step_of_a_peer_learns(best, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda model: model)  # what it gives is torch's business
    monkeypatch.setattr(peers, "RATE", 1e-2)
    for make, shape in ((peers.nanogpt, TINY), (peers.hugging_face, TINY), (peers.hugging_face, SHAPES["tiny-bert"])):
        if make is peers.hugging_face and not peers.there("transformers"):
            continue
        step = make(shape, best)
        losses = [float(step()) for _ in range(5)]
        assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["tiny", "tiny-bert"])
def test_a_small_race_of_everyone(name, monkeypatch):
    monkeypatch.setattr("benchmarks.limits.gemm_flops", lambda: 1e9)
    found = train.measure([name], rounds=1, seconds=0.0, compiled=False)
    one = found["shapes"][0]
    assert "ours, eager" in one["candidates"]
    assert ("nanoGPT, eager" in one["candidates"]) == (name == "tiny")
    assert ("transformers, eager" in one["candidates"]) == peers.there("transformers")
    assert set(one["ratios"]) == {who for who in one["candidates"] if not who.startswith("ours")}
    for figures in one["candidates"].values():
        assert figures["mfu"] == pytest.approx(figures["best"] * one["flops_per_token"] / one["gemm_flops"])
        assert figures["best"] >= figures["median"]
    said = list(train.lines(found))
    assert sum("tokens/s best" in line for line in said) == len(one["candidates"])
    assert any("guessed" in line for line in said) == (name == "tiny-bert")
    json.dumps(found)
