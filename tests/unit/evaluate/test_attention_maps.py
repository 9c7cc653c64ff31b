"""Pictures of attention show what attention did, in every network that has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.evaluate.attention_maps import attended, pictures, report
from foreword.networks.base import Inputs
from foreword.parts.attention import Attention, KeyValues
from foreword.parts.positions import Relative
from foreword.parts.stack import StackSpec
from foreword.parts.visible import BandedPattern, CausalPattern, FullPattern
from tests.tiny import drawn, tiny

WORDS = tuple("abcdefg")
KINDS = [
    "gpt2",
    "gpt3",
    "bert",
    "modern-bert",
    "transformer-xl",
    "t5",
    "transformer",
    "universal-transformer",
    "electra",
]


@pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern(), BandedPattern(3)])
@pytest.mark.parametrize("relative", [False, True])
def test_the_weights_are_those_that_mixed_the_values(pattern, relative):
    torch.manual_seed(0)
    spec = StackSpec(
        layers=1, width=12, heads=3, context=8, positions=Relative() if relative else Relative(untied=True)
    )
    made = spec.blocks()[0].attention.double() if relative else Attention(12, 3).double()
    where = Relative().build(spec).double().where(torch.arange(7), 7) if relative else None
    x, made.shown = torch.randn(2, 7, 12, dtype=torch.float64), []
    with torch.no_grad():
        for part in (*made.parameters(), *(where.biases.parameters() if where else ())):
            part.normal_(0, 0.5)
        found, seen = made(x, pattern, None, None, where)
        (weights,) = made.shown
        again = made.out((weights @ seen.values).transpose(1, 2).flatten(2))
    assert isinstance(seen, KeyValues)
    assert torch.allclose(found, again, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_every_network_with_attention_shows_it(name, store_of):
    recipe = tiny(name)
    network = drawn(recipe, store_of(recipe).tokenizer).network
    source = {"source": torch.arange(5, 9)[None]} if "source" in network.reads else {}
    inputs = Inputs(torch.arange(10, 17)[None], **source)
    with torch.no_grad():
        before = network(inputs).last
        found = attended(network, inputs, WORDS, tuple("wxyz") if source else ())
        assert torch.equal(network(inputs).last, before), "looking at it changed it"
    assert all(part.shown is None for part in network.modules() if isinstance(part, Attention))
    sides = {"source", "text", "from text to source"} if source else {"text"}
    assert {one.side for one in found.maps} == sides
    depth = recipe.network.passes * recipe.network.layers
    assert len(found.maps) == depth * len(sides)
    for one in found.maps:
        assert one.weights.shape == (2, len(one.queries), len(one.keys))
        assert np.allclose(one.weights.sum(-1), 1, atol=1e-5)
        ahead = np.abs(np.triu(one.weights, 1)).max()
        both_ways = one.side == "source" or "fill" in recipe.abilities() or name == "electra"
        if one.side != "from text to source":
            assert (ahead > 1e-6) == both_ways
    assert bool(found.times) == (name == "universal-transformer")
    for time in found.times:
        assert len(time.steps) == len(time.tokens)
        assert ((time.steps >= 1) & (time.steps <= 3)).all()


def test_chosen_layers_and_heads_become_pictures(store_of):
    recipe = tiny("universal-transformer")
    network = drawn(recipe, store_of(recipe).tokenizer).network
    inputs = Inputs(torch.arange(10, 17)[None], source=torch.arange(5, 9)[None])
    with torch.no_grad():
        found = attended(network, inputs, WORDS, tuple("wxyz"), tuple("bcdefgh"))
    every, one = pictures(found), pictures(found, [2], [1])
    assert len(every) == len(found.maps) + len(found.times) == len(found.maps) + 2
    assert len(one) == 3 * recipe.network.passes + 2
    assert "from-text-to-source-layer-2-step-3-head-1" in one
    drawing = one["source-layer-2-step-1-head-1"].svg()
    assert drawing.startswith("<svg")
    assert all(f">{word}<" in drawing for word in "wxyz")
    page = report("a model", found, one).html()
    assert "How long it thinks" in page
    assert page.count("<svg") == len(one)
