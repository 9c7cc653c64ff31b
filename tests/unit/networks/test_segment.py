"""Transformer-XL's memory: what it holds, how far it reaches, and what it does not teach."""

from __future__ import annotations

import pytest
import torch

from foreword.networks.base import Inputs
from foreword.networks.segment import SegmentTransformerSpec
from foreword.parts.stack import Initial
from foreword.tokens.vocabulary import Vocabulary

LENGTH = 12


def network(memory: int, layers: int = 2, norm: str = "after"):
    torch.manual_seed(0)
    spec = SegmentTransformerSpec(
        layers=layers, width=8, heads=2, memory=memory, norm=norm, bias=False, initial=Initial(deviation=0.5)
    )
    return spec.build(Vocabulary(50, -1, ())).double().eval()


def ids(length: int = LENGTH) -> torch.Tensor:
    return torch.from_numpy(__import__("numpy").random.default_rng(0).integers(0, 50, (1, length)))


def read(made, text, piece):
    parts, state = [], None
    for start in range(0, text.size(1), piece):
        output = made(Inputs(text[:, start : start + piece]), state)
        parts.append(output.last)
        state = output.state
    return torch.cat(parts, 1)


@pytest.mark.parametrize("norm", ["after", "before"])
@pytest.mark.parametrize("piece", [1, 3, 5])
def test_segments_with_a_memory_of_everything_are_one_pass_while_learning(piece, norm):
    """A position sees all of its segment and all that is remembered: with nothing forgotten, that is all that came before."""
    made, text = network(LENGTH, norm=norm).train(), ids()
    assert torch.allclose(read(made, text, piece), made(Inputs(text)).last, atol=1e-12)


@pytest.mark.parametrize("memory", [0, 1, 4])
def test_afterwards_a_text_is_read_the_same_however_it_is_cut(memory):
    made, text = network(memory), ids()
    with torch.no_grad():
        whole = made(Inputs(text)).last
        assert all(torch.allclose(read(made, text, piece), whole, atol=1e-12) for piece in (1, 2, 5))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_it_sees_as_far_back_as_it_says_and_no_further(layers):
    made, text = network(2, layers), ids()
    assert made.reach == 2 * layers
    with torch.no_grad():
        last = made(Inputs(text)).last[0, -1]
        for back in range(LENGTH):
            other = text.clone()
            other[0, LENGTH - 1 - back] = (other[0, LENGTH - 1 - back] + 1) % 50
            assert torch.equal(made(Inputs(other)).last[0, -1], last) == (back > made.reach), back


def test_no_gradient_goes_into_the_memory():
    made, text = network(4).train(), ids()
    state = made(Inputs(text[:, :6])).state
    assert not any(layer.requires_grad for layer in state.layers)
    assert all(layer.shape == (1, 4, 8) for layer in state.layers)
    later = made(Inputs(text[:, 6:]), state).last.sum()
    (slope,) = torch.autograd.grad(later, [made.table()])
    before = set(text[0, :6].tolist()) - set(text[0, 6:].tolist())
    assert all(slope[token].abs().sum() == 0 for token in before)


def test_only_distances_can_be_told():
    from foreword.parts.positions import Learned

    assert SegmentTransformerSpec(layers=1, width=8, heads=2, positions=Learned()).faults()[0][0] == "positions"
