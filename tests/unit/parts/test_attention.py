"""Attention against its definition, written out."""

from __future__ import annotations

import math

import pytest
import torch

from foreword.parts.attention import Attention
from foreword.parts.visible import Causal, Everywhere

WIDTH, HEADS, LENGTH = 12, 3, 6


@pytest.fixture
def attention():
    torch.manual_seed(0)
    made = Attention(WIDTH, HEADS).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0, 0.5)
    return made


def by_hand(attention, x, context, visible):
    """softmax(q k / sqrt(size)) v, head by head; visible [batch, queries, keys]."""
    q = (x @ attention.project.weight.T + attention.project.bias)[..., :WIDTH]
    k, v = (context @ attention.project.weight.T + attention.project.bias)[..., WIDTH:].chunk(2, -1)
    size, out = WIDTH // HEADS, []
    for head in range(HEADS):
        here = slice(head * size, (head + 1) * size)
        scores = q[..., here] @ k[..., here].transpose(1, 2) / math.sqrt(size)
        out.append(scores.masked_fill(~visible, -math.inf).softmax(-1) @ v[..., here])
    return torch.cat(out, -1) @ attention.out.weight.T + attention.out.bias


@pytest.mark.parametrize("pattern", [Everywhere(), Causal()])
@pytest.mark.parametrize("padded", [False, True])
def test_it_is_the_definition(attention, pattern, padded):
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    real = torch.tensor([[True] * LENGTH, [False] * 2 + [True] * 4]) if padded else None
    visible = pattern.mask(LENGTH, LENGTH).expand(2, -1, -1)
    if padded:
        visible = visible & real[:, None]
        visible = visible | torch.eye(LENGTH, dtype=torch.bool)
    found, seen = attention(x, pattern, None, real)
    wanted = by_hand(attention, x, x, visible)
    there = real if padded else torch.ones(2, LENGTH, dtype=torch.bool)
    assert torch.allclose(found[there], wanted[there], atol=1e-12)
    assert torch.isfinite(found).all()
    assert seen.keys.shape == (2, HEADS, LENGTH, WIDTH // HEADS)


def test_remembering_and_looking_is_the_same_in_two_verbs(attention):
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    whole, _ = attention(x, Causal())
    past = attention.remember(x[:, :4])
    both = past.then(attention.remember(x[:, 4:]))
    assert torch.allclose(attention.look(x[:, 4:], both, Causal()), whole[:, 4:], atol=1e-12)
    other = torch.randn(2, 9, WIDTH, dtype=torch.float64)
    cross = attention.look(x, attention.remember(other), Everywhere())
    assert torch.allclose(cross, by_hand(attention, x, other, torch.ones(2, LENGTH, 9, dtype=torch.bool)), atol=1e-12)


def test_masks_are_written_as_who_may_look():
    assert Causal().mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert Causal().mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    assert Everywhere().mask(2, 3).all()
