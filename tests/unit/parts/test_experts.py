"""Experts: what is dispatched equals the whole, and the load is the chance that it says it is."""

from __future__ import annotations

import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import shape_of
from foreword.parts.experts import Experts, ExpertsSpec, variation
from foreword.tokens.vocabulary import Vocabulary


def experts(active=2, count=5, **more) -> Experts:
    torch.manual_seed(0)
    made = Experts(ExpertsSpec(experts=count, active=active, hidden=6, **more), 4).double()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.7)
    return made


def dense(made: Experts, x: torch.Tensor) -> torch.Tensor:
    """Every expert reads every position; the gate is zero for those that are not chosen."""
    scores = made.gate.clean(x)
    kept = torch.full_like(scores, float("-inf")).scatter(-1, scores.topk(made.spec.active)[1], 0.0)
    shares = (scores + kept).softmax(-1)
    answers = torch.stack([(x @ a).relu() @ b for a, b in zip(made.inner, made.outer)], -1)
    return (answers * shares[:, None]).sum(-1)


@pytest.mark.parametrize("active", [1, 2, 5])
def test_dispatched_positions_get_what_all_experts_together_would_say(active):
    made, x = experts(active, noise=False), torch.randn(20, 4, dtype=torch.float64, requires_grad=True)
    ours, wanted = made(x), dense(made, x)
    assert (ours - wanted).abs().max() < 1e-12
    slopes = [torch.autograd.grad(out.square().sum(), [x, *made.parameters()]) for out in (ours, wanted)]
    assert max(float((a - b).abs().max()) for a, b in zip(*slopes)) < 1e-10


def test_exactly_so_many_are_active_and_their_shares_sum_to_one():
    made, x = experts(3), torch.randn(50, 4, dtype=torch.float64)
    chosen = made.gate(x)
    assert chosen.experts.shape == (50, 3)
    assert all(len(set(row)) == 3 for row in chosen.experts.tolist())
    assert torch.allclose(chosen.shares.sum(-1), torch.ones(50, dtype=torch.float64))


def test_experts_read_positions_times_active_rows_in_all(monkeypatch):
    made, x, rows = experts(2), torch.randn(3, 7, 4, dtype=torch.float64), []
    real = torch.Tensor.relu
    monkeypatch.setattr(torch.Tensor, "relu", lambda tensor: (rows.append(len(tensor)), real(tensor))[1])
    made(x)
    assert sum(rows) == 3 * 7 * 2


@pytest.mark.parametrize("off", [0, 1])
def test_the_load_is_how_often_an_expert_would_be_chosen_if_its_noise_were_drawn_again(off):
    """Monte Carlo, 4 standard errors. Comparing with the wrong one of the sorted scores (off by one) must not pass."""
    made, draws = experts(2), 100_000
    gate, x = made.gate, torch.randn(1, 4, dtype=torch.float64)
    clean, deviation = gate.clean(x), torch.nn.functional.softplus(gate.noise(x)) + 1e-6
    scores = clean + torch.randn(1, 5, dtype=torch.float64) * deviation
    values = scores.topk(4)[0]
    said = gate.chance(clean, scores, values[:, off : off + 3], deviation)[0]
    apart = []
    for i in range(5):
        again = clean[0, i] + torch.randn(draws, dtype=torch.float64) * deviation[0, i]
        others = torch.cat([scores[0, :i], scores[0, i + 1 :]]).topk(2)[0][1]
        often = float((again > others).double().mean())
        apart.append(abs(often - float(said[i].detach())) / max((often * (1 - often) / draws) ** 0.5, 1e-5))
    assert max(apart) < 4 if off == 0 else max(apart) > 4


def test_variation_is_zero_in_balance_and_largest_when_one_does_all():
    assert variation(torch.full((6,), 3.0)) == 0
    assert float(variation(torch.tensor([5.0, 0, 0, 0, 0, 0]))) == pytest.approx(5)


def test_both_costs_move_the_gate_and_one_active_expert_learns_nothing_from_its_share():
    made, x = experts(2).train(), torch.randn(30, 4, dtype=torch.float64)
    made(x)
    assert set(made.costs) == {"importance", "load"}
    for cost in made.costs.values():
        (slope,) = torch.autograd.grad(cost, made.gate.clean.weight, retain_graph=True)
        assert slope.abs().max() > 1e-4
    single = experts(1, importance=0.0, load=0.0).train()
    (slope,) = torch.autograd.grad(single(x).square().sum(), single.gate.clean.weight)
    assert slope.abs().max() < 1e-12
    made.eval()(x)
    assert not made.costs


def test_balance_costs_keep_the_load_even():
    """A biased start, 200 steps of the balance alone; without it nothing changes."""
    found = {}
    for weight in (0.1, 0.0):
        made = experts(2, 8, importance=weight, load=weight).float().train()
        made.gate.settle()
        made.gate.clean.weight.data[0] += 1.0
        optimizer = torch.optim.Adam(made.parameters(), 0.02)
        torch.manual_seed(1)
        for _ in range(200):
            x = torch.randn(256, 4) + 1.0
            loss = made(x).mean() * 0 + sum(made.costs.values(), torch.zeros(()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        busy = torch.bincount(made.gate(torch.randn(4096, 4) + 1.0).experts.flatten(), minlength=8).float()
        found[weight] = float(busy.std() / busy.mean()), float(busy.max() / busy.mean())
    assert found[0.1][1] < 2
    assert found[0.0][0] > 3 * found[0.1][0]


def test_a_layout_that_cannot_be_is_refused_and_the_published_size_is_counted_without_memory():
    assert ExpertsSpec(experts=4, active=5).faults()[0][0] == "active"
    assert ExpertsSpec(experts=16, groups=3).faults() == [("groups", "16 experts do not divide into 3 groups.")]
    assert ExpertsSpec(experts=16, groups=2, active=3).faults()[0][0] == "active"
    assert not ExpertsSpec(experts=16, groups=4, active=4).faults()
    made = shape_of(loader.load("moe-lstm"), Vocabulary(793_471, 0, ()))
    inside = sum(weight.numel() for weight in made.network.cell.between.parameters())
    assert inside == 4096 * 2 * 512 * 1024 + 2 * 512 * (4096 + 16)
    assert 4.2e9 < inside < 4.4e9  # "about 4.3 billion", without words and softmax


# ------------------------------------------------------------------------------------------------------- in two levels


def test_groups_of_experts_are_all_of_them_with_products_of_shares():
    """2 of 3 groups, then 2 of 4 experts: every expert reads every position, weighed by both gates; gradients too."""
    torch.manual_seed(0)
    made = Experts(ExpertsSpec(experts=12, groups=3, active=2, hidden=6, noise=False), 4).double()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.7)
    x = torch.randn(20, 4, dtype=torch.float64, requires_grad=True)

    def kept(scores):
        return (scores + torch.full_like(scores, float("-inf")).scatter(-1, scores.topk(2)[1], 0.0)).softmax(-1)

    first = kept(made.gate.first.clean(x))
    second = torch.cat([kept(gate.clean(x)) * first[:, [n]] for n, gate in enumerate(made.gate.second)], -1)
    answers = torch.stack([(x @ a).relu() @ b for a, b in zip(made.inner, made.outer)], -1)
    wanted, ours = (answers * second[:, None]).sum(-1), made(x)
    assert ((second > 0).sum(-1) == 4).all()
    assert (ours - wanted).abs().max() < 1e-12
    slopes = [torch.autograd.grad(out.square().sum(), [x, *made.parameters()]) for out in (ours, wanted)]
    assert max(float((a - b).abs().max()) for a, b in zip(*slopes)) < 1e-10


def test_the_load_in_two_levels_is_that_of_the_group_shared_out_among_its_experts():
    torch.manual_seed(0)
    made = Experts(ExpertsSpec(experts=6, groups=3, active=1, hidden=6), 4).double().train()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.7)
    x = torch.randn(40, 4, dtype=torch.float64)
    torch.manual_seed(1)
    chosen = made.gate(x)
    torch.manual_seed(1)
    groups = made.gate.first(x)
    for number in range(3):
        rows = x[(groups.experts == number).any(1)]
        assert len(rows) > 0
        wanted = made.gate.second[number](rows).load * groups.load[number] / len(rows)
        assert torch.allclose(chosen.load[2 * number : 2 * number + 2], wanted)
    made(x)
    assert torch.autograd.grad(made.costs["load"], made.gate.first.clean.weight)[0].abs().max() > 1e-5


@pytest.mark.parametrize("recipe", ["gpt2", "bert"])
def test_a_transformer_of_experts_charges_their_balance_and_one_of_sparse_maps_is_the_dense_one(recipe):
    from foreword.assembly.build import model_for
    from foreword.exchange.hugging_face import family_of
    from foreword.networks.base import Inputs
    from foreword.parts.linear import BlockSparseLinear

    small = ["network.layers=2", "network.width=16", "network.heads=2", "network.context=8"]
    some = small + ["network.feedforward={ kind = 'experts', experts = 4, active = 2, hidden = 8 }"]
    torch.manual_seed(0)
    ids = Inputs(torch.randint(5, 30, (2, 8)))
    made = model_for(loader.load(recipe, "", some), Vocabulary(30, 0, ())).network
    assert set(made.train()(ids).costs) == {"importance 0", "load 0", "importance 1", "load 1"}
    assert not made.eval()(ids).costs
    assert family_of(loader.load(recipe, "", some)) is None, "transformers has no such blocks"
    sparse = small + ["network.feedforward={ kind = 'block_sparse', block = 4, layout = { kind = 'full' } }"]
    made, dense = (
        model_for(loader.load(recipe, "", one), Vocabulary(30, 0, ())).network.eval() for one in (sparse, small)
    )
    pairs = dict(made.named_modules())
    with torch.no_grad():
        for name, part in dense.named_modules():
            ours = pairs[name]
            if isinstance(ours, BlockSparseLinear):
                ours.weight.normal_(0, 0.2)
                part.weight.copy_(ours.matrix())
            elif not list(part.children()) and list(part.parameters()):
                part.load_state_dict(ours.state_dict())
    assert torch.allclose(made(ids).last, dense(ids).last, atol=1e-5)


@pytest.mark.parametrize("name", ["moe-lstm", "elmo", "big-lstm"])
def test_published_sizes_pass_without_a_number(name):
    """What a plan does: shapes go through the network, though who reads what, and which words differ, depends on numbers."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from foreword.assembly.build import allotted
    from foreword.networks.base import Inputs

    recipe = loader.load(name)
    with FakeTensorMode(allow_non_fake_inputs=True):
        network = allotted(shape_of(recipe, Vocabulary(1000, 0, ()))).network.train()
        assert network(Inputs(torch.zeros(2, 7, dtype=torch.long))).last.shape == (2, 7, network.width)
