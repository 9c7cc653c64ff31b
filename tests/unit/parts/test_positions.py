import pytest
import torch

from foreword.parts.attention import Attention
from foreword.parts.positions import Learned, Rotary
from foreword.parts.stack import StackSpec
from foreword.parts.visible import CausalPattern

SIZE = 8
STACK = StackSpec(layers=1, width=2 * SIZE, heads=2, context=16)
ROTARY = Rotary().build(STACK)


def rotary(positions):
    return ROTARY.where(positions, positions.size(-1))


def turned(x, positions):
    return rotary(positions).of(x)


def test_rotary_positions_rotate_each_pair():
    x = torch.randn(1, 1, 5, SIZE)
    found = turned(x, torch.arange(5))
    for place in range(5):
        for pair in range(SIZE // 2):
            angle = torch.tensor(place * 10000.0 ** (-2 * pair / SIZE))
            a, b = x[0, 0, place, pair], x[0, 0, place, pair + SIZE // 2]
            assert found[0, 0, place, pair] == pytest.approx(float(a * angle.cos() + b * angle.sin()), abs=1e-5)
            assert found[0, 0, place, pair + SIZE // 2] == pytest.approx(
                float(b * angle.cos() - a * angle.sin()), abs=1e-5
            )
    assert torch.allclose(found.norm(dim=-1), x.norm(dim=-1), atol=1e-5), "a rotation changes no length"


def test_the_product_of_two_rotated_vectors_depends_on_their_distance_alone():
    q, k = torch.randn(1, 1, 1, SIZE), torch.randn(1, 1, 1, SIZE)

    def product(here, there):
        return float((turned(q, torch.tensor([here])) * turned(k, torch.tensor([there]))).sum())

    assert product(3, 1) == pytest.approx(product(103, 101), abs=1e-4)
    assert product(3, 1) != pytest.approx(product(3, 2), abs=1e-3)


def test_every_row_may_have_its_own_positions():
    x = torch.randn(2, 3, 4, SIZE)
    positions = torch.tensor([[0, 0, 1, 2], [5, 6, 7, 8]])
    found = turned(x, positions)
    for row in range(2):
        assert torch.allclose(found[row : row + 1], turned(x[row : row + 1], positions[row]), atol=1e-6)


def test_a_table_adds_and_tells_attention_nothing():
    table = Learned().build(StackSpec(layers=1, width=4, heads=2, context=6))
    x = torch.randn(2, 3, 4)
    assert torch.allclose(table.add(x, torch.tensor([3, 4, 5])), x + table.weight[3:6])
    assert table.where(torch.arange(3), 3) is None


def test_normalised_queries_and_keys_meet_with_one_length():
    attention = Attention(16, 2, bias=False, qk_norm=torch.nn.RMSNorm(8, 1e-6, elementwise_affine=False))
    x = torch.randn(1, 5, 16)
    _, seen = attention(x, CausalPattern(), None, None, rotary(torch.arange(5)))
    assert torch.allclose(seen.keys.square().mean(-1), torch.ones(1, 2, 5), atol=1e-4)
    loud, _ = attention(1000 * x, CausalPattern())
    calm, _ = attention(x, CausalPattern())
    assert torch.allclose(loud, 1000 * calm, rtol=1e-3), "how loud the input is does not sharpen attention"


def test_remembering_and_looking_rotate_as_one_pass_does():
    attention = Attention(16, 2, bias=False, qk_norm=torch.nn.RMSNorm(8, 1e-6, elementwise_affine=False)).double()
    x = torch.randn(2, 6, 16, dtype=torch.float64)
    whole, _ = attention(x, CausalPattern(), None, None, rotary(torch.arange(6)))
    past = attention.remember(x[:, :4], rotary(torch.arange(4)))
    later = rotary(torch.arange(4, 6))
    both = past.then(attention.remember(x[:, 4:], later))
    assert torch.allclose(attention.look(x[:, 4:], both, CausalPattern(), None, later), whole[:, 4:], atol=1e-10)


def test_an_odd_head_cannot_be_rotated():
    spec = StackSpec(layers=1, width=15, heads=3, context=8, positions=Rotary())
    assert spec.faults()[0][0] == "heads"
    assert not StackSpec(layers=1, width=12, heads=3, context=8, positions=Rotary()).faults()
