"""Attention against its definition, written out."""

from __future__ import annotations

import math

import pytest
import torch

from foreword.parts.attention import Attention, DotProduct
from foreword.parts.block import SourceMemory
from foreword.parts.positions import DistanceBias, Learned, Relative, Sinusoid, bucket, sinusoids
from foreword.parts.stack import StackSpec
from foreword.parts.visible import BandedPattern, CausalPattern, FullPattern

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


@pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern()])
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
    whole, _ = attention(x, CausalPattern())
    past = attention.remember(x[:, :4])
    both = past.then(attention.remember(x[:, 4:]))
    assert torch.allclose(attention.look(x[:, 4:], both, CausalPattern()), whole[:, 4:], atol=1e-12)
    other = torch.randn(2, 9, WIDTH, dtype=torch.float64)
    cross = attention.look(x, attention.remember(other), FullPattern())
    assert torch.allclose(cross, by_hand(attention, x, other, torch.ones(2, LENGTH, 9, dtype=torch.bool)), atol=1e-12)


def test_masks_are_written_as_who_may_look():
    assert CausalPattern().mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert CausalPattern().mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    assert FullPattern().mask(2, 3).all()


def stack(**settings):
    return StackSpec(**{"layers": 1, "width": WIDTH, "heads": HEADS, "context": 32, **settings})


def scored(attention, x, context, bias, visible, scale):
    """softmax(scale q k + bias) v with a bias for each head, query and key."""
    q, k, v = (
        (x @ attention.project.weight.T)[..., : attention.inner],
        *(context @ attention.project.weight.T)[..., attention.inner :].chunk(2, -1),
    )
    out = []
    for head in range(attention.heads):
        here = slice(head * attention.size, (head + 1) * attention.size)
        scores = scale * q[..., here] @ k[..., here].transpose(1, 2) + bias[..., head, :, :]
        out.append(scores.masked_fill(~visible, -math.inf).softmax(-1) @ v[..., here])
    return torch.cat(out, -1) @ attention.out.weight.T


@pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern(), BandedPattern(3)])
def test_a_scale_of_its_own_heads_of_any_size_and_a_bias_for_each_distance(pattern):
    spec = stack(head_size=5, attention_scale=1.0, bias=False, positions=DistanceBias(buckets=8, furthest=6))
    torch.manual_seed(0)
    block, placing = spec.blocks()[0].double(), spec.positions.build(spec, both_ways=True).double()
    attention, x = block.attention, torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    torch.nn.init.normal_(attention.project.weight)
    found, _ = attention(x, pattern, None, None, placing.where(torch.arange(LENGTH), LENGTH))
    ahead = torch.arange(LENGTH) - torch.arange(LENGTH)[:, None]
    bias = placing.weight[bucket(ahead, 8, 6, True)].permute(2, 0, 1)
    wanted = scored(attention, x, x, bias, pattern.mask(LENGTH, LENGTH), 1.0)
    assert torch.allclose(found, wanted, atol=1e-12)
    assert not torch.allclose(found, scored(attention, x, x, 0 * bias, pattern.mask(LENGTH, LENGTH), 1.0), atol=1e-3)


@pytest.mark.parametrize("past", [0, 3, 7])
def test_relative_scores_are_the_sum_of_the_four_terms(past):
    """Transformer-XL: (q + u) k + (q + v) R, in a loop over queries and keys; with and without a memory."""
    spec = stack(bias=False, context=None, positions=Relative())
    torch.manual_seed(0)
    attention, placing = spec.blocks()[0].double().attention, spec.positions.build(spec).double()
    for parameter in (*attention.parameters(), *placing.parameters()):
        torch.nn.init.normal_(parameter, 0, 0.5)
    x, before = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64), torch.randn(2, past, WIDTH, dtype=torch.float64)
    keys = past + LENGTH
    found, _ = attention(
        x, CausalPattern(), attention.remember(before), None, placing.where(torch.arange(LENGTH), keys)
    )
    q = (x @ attention.project.weight.T)[..., :WIDTH].unflatten(-1, (HEADS, -1))
    k = (torch.cat([before, x], 1) @ attention.project.weight.T)[..., WIDTH : 2 * WIDTH].unflatten(-1, (HEADS, -1))
    far = attention.scores.distance(sinusoids(torch.arange(keys), WIDTH).double()).unflatten(-1, (HEADS, -1))
    bias = torch.zeros(2, HEADS, LENGTH, keys, dtype=torch.float64)
    for i in range(LENGTH):
        for j in range(past + i + 1):
            place = far[past + i - j]
            bias[:, :, i, j] = (
                (q[:, i] * place).sum(-1)
                + (placing.biases.content * k[:, j]).sum(-1)
                + (placing.biases.place * place).sum(-1)
            ) * attention.size**-0.5
    wanted = scored(
        attention, x, torch.cat([before, x], 1), bias, CausalPattern().mask(LENGTH, keys), attention.size**-0.5
    )
    assert torch.allclose(found, wanted, atol=1e-12)


def test_distances_fall_into_the_buckets_of_the_paper():
    both = bucket(torch.tensor([0, -1, 1, -127, -128, -300, 127, 128, 300]), 32, 128, True).tolist()
    assert both == [0, 1, 17, 15, 15, 15, 31, 31, 31]
    assert bucket(torch.tensor([5, 0, -1, -15, -16, -128, -500]), 32, 128, False).tolist() == [0, 0, 1, 15, 16, 31, 31]


def test_a_block_may_look_at_another_sequence_as_well():
    spec = stack(norm="before", bias=False)
    torch.manual_seed(0)
    block = spec.blocks(cross=True)[0].double()
    x, other = (torch.randn(2, length, WIDTH, dtype=torch.float64) for length in (LENGTH, 9))
    real = torch.arange(9) < torch.tensor([[9], [4]])
    source = SourceMemory(block.cross.remember(other), real)
    found, _ = block(x, CausalPattern(), source=source)
    x = x + block.attention(block.first.norm(x), CausalPattern())[0]
    cross = block.between.norm(x)
    seen = real[:, None].expand(2, LENGTH, 9)
    x = x + scored(block.cross, cross, other, torch.zeros(HEADS, LENGTH, 9), seen, (WIDTH // HEADS) ** -0.5)
    assert torch.allclose(found, x + block.feedforward(block.second.norm(x)), atol=1e-12)
    assert not torch.allclose(found, block(x, CausalPattern())[0], atol=1e-3)


def test_positions_may_start_at_an_offset():
    spec = stack(positions=Learned(offset=2))
    table = spec.positions.build(spec)
    assert table.weight.shape == (34, WIDTH)
    assert torch.equal(table.add(torch.zeros(1, 2, WIDTH), torch.arange(2))[0], table.weight[2:4])


def test_sinusoids_are_added_and_nothing_is_learned():
    made = Sinusoid().build(stack())
    assert not list(made.parameters())
    found = made.add(torch.zeros(1, 3, WIDTH), torch.arange(3))[0]
    assert found[2, 1] == pytest.approx(math.sin(2 * 10000 ** (-1 / (WIDTH // 2))))
    assert found[2, WIDTH // 2] == pytest.approx(math.cos(2))


def test_a_norm_may_have_a_gain_and_nothing_else():
    norm = stack(norm_kind="rms_gain").norm_of(4)
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    assert not list(stack(norm_kind="rms").norm_of(4).parameters())


def test_the_default_scale_is_left_to_torch():
    queries = torch.randn(1, 2, 3, 4)
    assert DotProduct(4)(queries, None)[0] is queries
    assert torch.equal(DotProduct(4, 1.0)(queries, None)[0], 2 * queries)
