"""T5's three architectures: one stack that reads a source and writes a target behind it takes what an encoder-decoder takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from foreword.assembly import loader
from foreword.basics.messages import Faults
from foreword.exchange import t5
from foreword.networks.base import Inputs
from foreword.networks.prefix import PrefixTransformer
from foreword.parts.visible import CausalPattern, FullPattern, PrefixPattern
from tests.tiny import drawn, learner_for, take_steps, tiny

SOURCE, TARGET = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[0, 11, 12, 13]])
LM, PREFIX = "network.one_stack=causal", "network.one_stack=prefix"

FAST = ('training.optimizer={ kind = "adam", learning_rate = 0.02 }', 'training.schedule={ kind = "constant" }')


@pytest.fixture
def tokenizer(store):
    return store("spans").tokenizer


def network(tokenizer, *settings):
    return drawn(tiny("t5", *settings), tokenizer, dtype=torch.float64).network.eval()


@torch.no_grad()
def changed(one, source=SOURCE, target=TARGET):
    """[places of source and target that change, places that notice], each in one row of both."""
    whole = torch.cat([source, target], 1)[0]

    def layers(ids):
        read = []
        watch = one.norm.register_forward_hook(lambda _, __, out: read.append(out[0]))
        one(Inputs(ids[None, source.size(1) :], source=ids[None, : source.size(1)]))
        watch.remove()
        return read[0]

    plain, found = layers(whole), []
    for place in range(len(whole)):
        other = whole.clone()
        other[place] += 20
        found.append((layers(other) - plain).abs().amax(-1) > 1e-9)
    return torch.stack(found)


def test_a_prefix_is_seen_both_ways_and_an_lm_looks_back_only(tokenizer):
    back = torch.ones(9, 9, dtype=torch.bool).triu()
    whole_source = torch.arange(9)[:, None] < 5
    assert torch.equal(changed(network(tokenizer, LM)), back)
    assert torch.equal(changed(network(tokenizer, PREFIX)), back | whole_source)


@torch.no_grad()
def test_without_a_prefix_it_is_an_lm_and_with_nothing_else_an_encoder(tokenizer):
    for length, other in ((0, CausalPattern()), (7, FullPattern())):
        assert torch.equal(PrefixPattern(length).mask(7, 7), other.mask(7, 7))
        q, k, v = torch.randn(3, 2, 2, 7, 8)
        assert torch.allclose(PrefixPattern(length).attend(q, k, v, None), other.attend(q, k, v, None), atol=1e-6)
    lm, prefix = (network(tokenizer, one, "network.positions.kind=rotary") for one in (LM, PREFIX))
    prefix.load_state_dict(lm.state_dict())
    alone = torch.cat([SOURCE, TARGET], 1)
    nothing = torch.zeros(1, 0, dtype=torch.int64)
    equal = prefix(Inputs(alone, source=nothing)).last, lm(Inputs(TARGET, source=SOURCE)).last
    assert torch.allclose(equal[0][:, SOURCE.size(1) :], equal[1], atol=1e-12)
    assert not torch.allclose(prefix(Inputs(TARGET, source=SOURCE)).last, equal[1], atol=1e-3)
    both = network(tokenizer)  # an encoder with the weights of the stack makes the same of the source
    stack = network(tokenizer, PREFIX)
    both.encoder.load_state_dict(stack.blocks.state_dict())
    both.embeddings.load_state_dict(stack.embeddings.state_dict())
    read, encoded = [], []
    watches = [
        stack.blocks[-1].register_forward_hook(lambda _, __, out: read.append(out[0])),
        both.encoder[-1].register_forward_hook(lambda _, __, out: encoded.append(out[0])),
    ]
    stack(Inputs(TARGET, source=SOURCE))
    both(Inputs(TARGET, source=SOURCE))
    for watch in watches:
        watch.remove()
    assert torch.allclose(read[0][:, : SOURCE.size(1)], encoded[0], atol=1e-12)


@pytest.mark.parametrize("settings", [(LM,), (PREFIX,), (PREFIX, "network.positions.kind=learned")])
@torch.no_grad()
def test_padding_changes_nothing_and_a_cache_equals_a_whole_row(tokenizer, settings):
    one = network(tokenizer, *settings)
    plain = one(Inputs(TARGET, source=SOURCE)).last
    wider = torch.tensor([[5, 6, 7, 8, 9, 3, 3], [4, 4, 4, 4, 4, 4, 4]])
    there = torch.tensor([[True] * 5 + [False] * 2, [True] * 7])
    targets = torch.cat([torch.cat([TARGET, TARGET]), torch.full((2, 2), 4)], 1)
    kept = torch.tensor([[True] * 4 + [False] * 2] * 2)
    batch = Inputs(targets, kept, source=wider, source_real=there)
    assert torch.allclose(one(batch).last[0, :4], plain[0], atol=1e-10)
    assert not torch.allclose(one(replace(batch, source_real=None)).last[0, :4], plain[0], atol=1e-4)
    first = one(Inputs(TARGET[:, :1].expand(2, -1), source=wider, source_real=there))
    steps, state = [first.last], first.state
    for place in range(1, 4):
        read = one(Inputs(TARGET[:, place : place + 1].expand(2, -1)), state)
        steps, state = [*steps, read.last], read.state
    assert torch.allclose(torch.cat(steps, 1)[0], plain[0], atol=1e-10)


@pytest.mark.parametrize("setting", [LM, PREFIX])
def test_it_overfits_a_batch_of_spans(store, setting):
    learner, stream = learner_for(tiny("t5", setting, *FAST), store("spans"))
    batch = stream.batch(0)
    before = learner.measure([batch])["nll.tokens"]
    take_steps(learner, stream, range(60), same=True)
    assert learner.measure([batch])["nll.tokens"] < before / 2


@pytest.mark.parametrize("setting", [LM, PREFIX])
def test_it_writes_one_by_one_as_together(tokenizer, setting):
    recipe = tiny("t5", setting)
    model = drawn(recipe, tokenizer)
    assert isinstance(model.network, PrefixTransformer)
    half, table = drawn(tiny("t5"), tokenizer), model.network.table().numel()
    assert model.parameter_count() - table < (half.parameter_count() - table) / 2, (
        "half of the layers, none looks across"
    )
    start = recipe.objective.start_id(tokenizer)
    writer = model.eval().language_model(replace(tokenizer.vocabulary(), start=start))
    sources = [np.array([5, 6, 7]), np.array([9, 8, 7, 6, 5])]
    targets = [np.array([11, 12]), np.array([13, 14, 15])]
    together = writer.score_targets(sources, targets)
    for source, target, found in zip(sources, targets, together):
        assert found == pytest.approx(writer.score_targets([source], [target])[0], abs=1e-4)
        logs, state = writer.begin([source])
        for token, wanted in zip(target, found):
            assert float(logs[0, token]) == pytest.approx(wanted, abs=1e-4)
            logs, state = writer.advance(np.array([token]), state)


def test_what_only_an_encoder_or_a_decoder_has_is_refused():
    with pytest.raises(Faults, match="one_stack has neither"):
        loader.load("t5", "laptop", [PREFIX, "network.decoder_layers=2"])
    assert not t5.fits(loader.load("t5", "laptop", [PREFIX]))
    assert t5.fits(loader.load("t5", "laptop"))
