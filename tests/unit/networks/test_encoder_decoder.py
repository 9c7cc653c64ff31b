"""The Transformer of 2017: what a position is, who sees whom where attention is restricted, and what one table for three teaches."""

from __future__ import annotations

import copy
import math
from functools import partial

import pytest
import torch

from foreword.exchange import marian, t5
from foreword.networks.base import Inputs
from foreword.parts.positions import sinusoids
from foreword.parts.visible import FullPattern
from tests.tiny import drawn, learner_for, tiny

BANDS = 'network.visible={ kind = "alternating", window = 4, order = ["banded"] }'
SOURCE, TARGET = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12]]), torch.tensor([[1, 15, 16, 17, 18, 19]])


@pytest.fixture
def tokenizer(store):
    return store("spans").tokenizer


def network(tokenizer, *settings, name="transformer"):
    return drawn(tiny(name, *settings), tokenizer, dtype=torch.float64).network.eval()


@pytest.mark.parametrize("width", [16, 64])
def test_waves_of_a_later_position_are_those_of_the_first_rotated(width):
    """PE[p + c] = R(c) PE[p], whatever p; waves run from 2 pi to 2 pi times 10000, and nothing else is rotated so."""
    places = torch.arange(0, 500, 7)
    half, later = width // 2, 13
    turned = later * torch.exp(torch.arange(half) * (-math.log(10000.0) / half))
    sines, cosines = sinusoids(places, width).chunk(2, -1)
    rotated = torch.cat(
        [sines * turned.cos() + cosines * turned.sin(), cosines * turned.cos() - sines * turned.sin()], -1
    )
    assert torch.allclose(sinusoids(places + later, width), rotated, atol=1e-3)
    assert not torch.allclose(sinusoids(places + later + 1, width), rotated, atol=0.1)
    assert torch.allclose(sinusoids(torch.tensor(2 * math.pi), width)[0], torch.tensor(0.0), atol=1e-5)


@torch.no_grad()
def test_an_encoder_without_positions_does_not_know_the_order(tokenizer):
    made, order = network(tokenizer), torch.tensor([3, 0, 7, 2, 6, 1, 5, 4])
    x = made.embeddings.vectors(SOURCE)

    def encoded(x):
        blocks = [partial(block, pattern=FullPattern()) for block in made.encoder]
        return made.encoder_depth(x, blocks, None, lambda x: x, None)[0][-1]

    assert torch.allclose(encoded(x)[:, order], encoded(x[:, order]), atol=1e-10)
    there = torch.arange(8)
    placed = made.embeddings.placed
    assert not torch.allclose(encoded(placed(x, there))[:, order], encoded(placed(x[:, order], there)), atol=1e-3)


@torch.no_grad()
@pytest.mark.parametrize("settings", [(), (BANDS,), (BANDS, "network.positions.kind=distance_bias")])
def test_restricted_attention_reaches_as_far_as_its_band_on_either_side(tokenizer, settings):
    """One layer with a window of 4: two places to each side of a source, three behind in a target; the source is all seen."""
    made = network(tokenizer, "network.layers=1", *settings)
    band = bool(settings)
    source, target = [], []
    read = []
    made.encoder_norm.register_forward_hook(lambda _, __, out: read.append(out[0]))

    def both(s, t):
        last = made(Inputs(t, source=s)).last[0]
        return read.pop(), last

    encoded, plain = both(SOURCE, TARGET)
    for place in range(8):
        other = SOURCE.clone()
        other[0, place] += 20
        moved, written = both(other, TARGET)
        source.append((moved - encoded).abs().amax(-1) > 1e-9)
        assert ((written - plain).abs().amax(-1) > 1e-9).all(), "what is written sees all of the source"
    for place in range(6):
        other = TARGET.clone()
        other[0, place] += 20
        target.append((both(SOURCE, other)[1] - plain).abs().amax(-1) > 1e-9)
    everyone = torch.ones(8, 8, dtype=torch.bool)
    assert torch.equal(torch.stack(source), everyone.tril(2).triu(-2) if band else everyone)
    behind = torch.ones(6, 6, dtype=torch.bool).triu()
    assert torch.equal(torch.stack(target), behind.tril(3) if band else behind)
    first = made(Inputs(TARGET[:, :3], source=SOURCE))
    rest = made(Inputs(TARGET[:, 3:]), first.state).last
    assert torch.allclose(torch.cat([first.last, rest], 1)[0], plain, atol=1e-10)


def test_their_classes_have_no_restricted_attention():
    for name, family in (("transformer", marian), ("t5", t5)):
        bias = ["head.bias=true"] if name == "transformer" else []
        assert not family.fits(tiny(name, BANDS, *bias)), name


def test_one_table_reads_writes_and_guesses_and_learns_from_all_three(store_of):
    recipe = tiny("transformer")
    text = store_of(recipe)
    learner, stream = learner_for(recipe, text, dtype=torch.float64)
    model, batch = learner.model.eval(), stream.batch(0)
    table = model.network.embeddings.tokens.weight
    assert table is model.network.targets.tokens.weight is model.heads["tokens"].out.weight
    total = recipe.objective.loss(model, batch).charges["tokens"].total
    (whole,) = torch.autograd.grad(total, [table])
    parts = []
    for owner, name in (
        (model.network.embeddings, "tokens"),
        (model.network.targets, "tokens"),
        (model.heads["tokens"], "out"),
    ):
        kept = getattr(owner, name)
        setattr(owner, name, copy.deepcopy(kept))
        total = recipe.objective.loss(model, batch).charges["tokens"].total
        parts += torch.autograd.grad(total, [getattr(owner, name).weight])
        setattr(owner, name, kept)
    assert all(part.abs().sum() > 0 for part in parts)
    assert torch.allclose(sum(parts), whole, atol=1e-9)
