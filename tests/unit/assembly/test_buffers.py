"""Networks with buffers: those that are saved are read again, those that are not are computed again."""

from __future__ import annotations

import torch
from torch import nn

import foreword
from foreword.assembly.build import blank_model, model_for
from foreword.networks.base import Inputs
from foreword.networks.recurrent import Recurrent, RecurrentSpec
from foreword.runs.needs import needs
from foreword.runs.train import train
from foreword.training.hardware import Hardware
from tests.tiny import tiny

KIND = f"{__name__}:BufferedSpec"


class BufferedSpec(RecurrentSpec):
    kind: str = KIND

    def build(self, vocabulary):
        return Buffered(self, vocabulary)


class Buffered(Recurrent):
    """Adds a table of sinusoids, which is computed, and normalises by running statistics, which are learned."""

    def __init__(self, spec, vocabulary):
        super().__init__(spec, vocabulary)
        self.register_buffer("waves", torch.sin(torch.arange(float(self.width))), persistent=False)
        self.statistics = nn.BatchNorm1d(self.width)

    def forward(self, inputs, state=None):
        output = super().forward(inputs, state)
        last = self.statistics((output.last + self.waves).flatten(0, 1)).view_as(output.last)
        return type(output)(last, output.layers, output.state)


def recipe(budget=3):
    return tiny(
        "lstm", f"network.kind={KIND}", "network.width=32", "network.cell.kind=lstm", f'training.budget="{budget}"'
    )


def test_a_trained_network_with_buffers_opens_to_the_same_numbers(stores, tmp_path):
    run = train(recipe(), stores["byte_bpe"], tmp_path / "run")
    ids = torch.arange(5, 25)[None]
    first, again = foreword.load(run.path), foreword.load(run.path)
    network = first.model.network
    assert torch.equal(network.waves, torch.sin(torch.arange(32.0)))
    saved, _ = run.latest()
    for name, buffer in network.statistics.named_buffers():
        assert torch.equal(buffer, saved[f"model/network.statistics.{name}"])
    passes = int(network.statistics.num_batches_tracked)
    assert not torch.equal(network.statistics.running_mean, torch.zeros(32))
    assert not any("waves" in name for name in first.model.weights())
    with torch.inference_mode():
        assert torch.equal(network(Inputs(ids)).last, again.model.network(Inputs(ids)).last)
    longer = train(recipe(4), stores["byte_bpe"], tmp_path / "run")
    assert int(foreword.load(longer.path).model.network.statistics.num_batches_tracked) > passes, (
        "a resumed run goes on with them"
    )


def test_opening_draws_nothing_from_the_callers_random_numbers(store):
    vocabulary = store().tokenizer.vocabulary()
    before = torch.get_rng_state()
    made = blank_model(recipe(), vocabulary)
    assert torch.equal(before, torch.get_rng_state())
    assert {name: weight.shape for name, weight in made.weights().items()} == {
        name: weight.shape for name, weight in model_for(recipe(), vocabulary).weights().items()
    }


def test_what_it_needs_can_be_planned(store):
    assert needs(recipe(), store().tokenizer.vocabulary(), Hardware()).parameters > 0
