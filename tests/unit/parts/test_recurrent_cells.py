"""Cells beside torch's where they are equal, and proof where they are not; every other cell beside its formula."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from foreword.assembly import loader
from foreword.assembly.build import shape_of
from foreword.parts.cells import RecurrentDropout, SimpleCell, carried
from foreword.parts.gru import GruCell
from foreword.parts.layer_norm_lstm import LayerNormLstmCell
from foreword.parts.lstm import LstmCell
from foreword.parts.mlstm import MultiplicativeLstmCell, NormedLinear
from foreword.parts.multiplicative import MultiplicativeCell, TensorCell
from foreword.parts.peephole_lstm import PeepholeLstmCell
from foreword.tokens.vocabulary import Vocabulary

CELLS = {
    "simple": (SimpleCell(bptt=99), 4),
    "lstm": (LstmCell(), 3),
    "clipped lstm": (LstmCell(clip=0.05, projection=2), 3),
    "peepholes": (PeepholeLstmCell(), 3),
    "layer norm": (LayerNormLstmCell(), 3),
    "gru before": (GruCell(reset="before"), 3),
    "gru after": (GruCell(), 3),
    "multiplicative": (MultiplicativeCell(factors=5), 9),
    "tensor": (TensorCell(), 20),
    "mlstm": (MultiplicativeLstmCell(), 3),
    "mlstm without norm": (MultiplicativeLstmCell(weight_norm=False), 3),
}
every_cell = pytest.mark.parametrize("name", CELLS)


def made(name, layers=1, **more):
    torch.manual_seed(0)
    spec, inputs = CELLS[name]
    cell = spec.build(4, inputs, layers, **more).double()
    for weight in cell.parameters():
        nn.init.normal_(weight, 0, 0.5)
    return cell, torch.randn(2, 6, inputs, dtype=torch.float64)


def last(cell, x, state=None):
    return cell(x, cell.start(2, x) if state is None else state)


@every_cell
def test_gradients_are_those_of_finite_differences(name):
    cell, x = made(name)
    weights = dict(cell.named_parameters())

    def answer(x, *values):
        return torch.func.functional_call(cell, dict(zip(weights, values)), (x, cell.start(2, x)))[0][-1]

    inputs = [x[:, :4].clone().requires_grad_(), *(value.detach().requires_grad_() for value in weights.values())]
    assert torch.autograd.gradcheck(answer, inputs)


@every_cell
def test_padding_leaves_a_layer_as_it_was(name):
    cell, x = made(name)
    real = torch.tensor([[False, False, True, True, True, True]] * 2)
    (padded,), after = cell(x, cell.start(2, x), real)
    (alone,), wanted = last(cell, x[:, 2:])
    assert torch.allclose(padded[:, 2:], alone, atol=1e-12)
    assert all(
        torch.allclose(a, b, atol=1e-12)
        for a, b in zip(torch.utils._pytree.tree_leaves(after), torch.utils._pytree.tree_leaves(wanted))
    )


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_simple_cell_is_torchs_rnn_with_an_identity_in_front(activation):
    cell, x = made("simple")
    cell.layers[0].act = getattr(torch, activation)
    whole = nn.RNN(4, 4, nonlinearity=activation, bias=False, batch_first=True).double()
    with torch.no_grad():
        whole.weight_ih_l0.copy_(torch.eye(4))
        whole.weight_hh_l0.copy_(cell.layers[0].recurrent.weight)
    state = cell.start(2, x)
    assert torch.allclose(cell(x, state)[0][-1], whole(x, state[0][None])[0], atol=1e-12)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("projection", [None, 2])
@pytest.mark.parametrize("spec", [LstmCell(clip=1e9), PeepholeLstmCell(), LstmCell()])
def test_without_peepholes_an_lstm_is_torchs(spec, layers, projection):
    """Outputs and gradients; torch has two biases, of which one is zero here."""
    torch.manual_seed(0)
    cell = spec.model_copy(update={"projection": projection}).build(4, 3, layers).double()
    whole = nn.LSTM(3, 4, layers, batch_first=True, proj_size=projection or 0).double()
    pairs = {}
    with torch.no_grad():
        if hasattr(cell, "lstm"):
            cell.lstm.load_state_dict(whole.state_dict())
        else:
            for number, layer in enumerate(cell.layers):
                names = {
                    "weight_ih": layer.inputs.weight,
                    "weight_hh": layer.recurrent.weight,
                    "bias_ih": layer.inputs.bias,
                }
                names |= {"weight_hr": layer.project.weight} if projection else {}
                getattr(whole, f"bias_hh_l{number}").zero_()
                for name, mine in names.items():
                    pairs[f"{name}_l{number}"] = mine
                    mine.copy_(getattr(whole, f"{name}_l{number}"))
    x = torch.randn(2, 7, 3, dtype=torch.float64)
    ours, theirs = last(cell, x)[0][-1], whole(x)[0]
    assert (ours - theirs).abs().max() < 1e-12
    ours.square().sum().backward()
    theirs.square().sum().backward()
    for name, mine in pairs.items():
        assert (mine.grad - getattr(whole, name).grad).abs().max() < 1e-10, name


def test_the_output_gate_sees_the_new_cell_and_the_others_the_old_one():
    cell, x = made("peepholes")
    layer = cell.layers[0]
    (outputs,), _ = last(cell, x)
    h, c = torch.zeros(2, 4, dtype=torch.float64), torch.zeros(2, 4, dtype=torch.float64)
    for t in range(6):
        i, f, g, o = (layer.inputs(x[:, t]) + layer.recurrent(h)).chunk(4, -1)
        pi, pf, po = layer.peepholes
        old, c = c, (f + pf * c).sigmoid() * c + (i + pi * c).sigmoid() * g.tanh()
        h = (o + po * c).sigmoid() * c.tanh()
        wrong = (o + po * old).sigmoid() * c.tanh()
        assert torch.allclose(outputs[:, t], h, atol=1e-12)
        assert t == 0 or (wrong - h).abs().max() > 1e-3


def test_what_goes_back_into_the_gates_is_clipped_on_its_way():
    torch.manual_seed(0)
    x = torch.randn(2, 6, 3)
    found = {}
    for clip in (None, 1e9, 0.01):
        torch.manual_seed(1)
        cell = PeepholeLstmCell(gradient_clip=clip).build(4, 3, 1)
        (cell(x, cell.start(2, x))[0][-1] * 50).sum().backward()
        found[clip] = cell.layers[0].inputs.bias.grad.clone()
    assert torch.equal(found[None], found[1e9])
    assert found[0.01].abs().max() <= 0.01 * 12 + 1e-6 < found[None].abs().max()


def test_every_layer_reads_the_input_and_what_is_below():
    cell, x = made("peepholes", layers=3, skips=True)
    with torch.no_grad():
        for layer in cell.layers[1:]:
            layer.inputs.weight[:, 3:] = 0  # nothing from the layer below
    before = last(cell, x)[0]
    after = last(cell, x + 1)[0]
    assert (before[2] - after[2]).abs().max() > 1e-3
    with torch.no_grad():
        cell.layers[2].inputs.weight[:, :3] = 0
    assert torch.equal(last(cell, x)[0][2], last(cell, x + 1)[0][2])


@pytest.mark.parametrize("equal", [True, False])
def test_the_papers_gru_is_not_torchs_unless_nothing_is_reset(equal):
    """With the reset gate open (r = 1) and z turned round, they are one; otherwise where it stands matters."""
    cell, x = made("gru before")
    layer, width = cell.layers[0], 4
    whole = nn.GRU(3, width, batch_first=True).double()
    with torch.no_grad():
        whole.bias_ih_l0.zero_()
        whole.bias_hh_l0.zero_()
        whole.weight_ih_l0.copy_(layer.inputs.weight)
        whole.weight_hh_l0.copy_(torch.cat([layer.gates.weight, layer.candidate.weight]))
        for weight in (whole.weight_ih_l0, whole.weight_hh_l0):
            weight[width : 2 * width] *= -1  # z there is what is kept
        if equal:
            whole.bias_ih_l0[:width] = 100.0
            x = torch.cat([x, torch.ones(2, 6, 1, dtype=torch.float64)], -1)
            wide = nn.Linear(4, 3 * width, bias=False).double()
            wide.weight.copy_(torch.cat([layer.inputs.weight, torch.zeros(3 * width, 1)], 1))
            wide.weight[:width, 3] = 100.0
            layer.inputs = wide
    apart = (last(cell, x)[0][-1] - whole(x[..., :3])[0]).abs().max()
    assert apart < 1e-12 if equal else apart > 1e-2


def test_torchs_gru_is_torchs():
    cell, x = made("gru after", layers=2)
    whole = nn.GRU(3, 4, 2, batch_first=True).double()
    with torch.no_grad():
        for number, layer in enumerate(cell.layers):
            for name, weight in layer.named_parameters():
                getattr(whole, name.replace("l0", f"l{number}")).copy_(weight)
    assert (last(cell, x)[0][-1] - whole(x)[0]).abs().max() < 1e-12


def test_a_multiplicative_cell_is_a_matrix_for_each_token():
    """The matrices that its factors stand for, written out: the tensor cell reads the same text to the same states."""
    cell, _ = made("multiplicative")
    layer, table = cell.layers[0], torch.randn(7, 9, dtype=torch.float64)
    tensor = TensorCell().build(4, 20, 1).double()
    written = torch.stack([torch.cat([layer.matrix(row).flatten(), row[5:]]) for row in table])
    tensor.layers[0].bias.data.copy_(layer.recurrent.bias)
    ids = torch.randint(0, 7, (2, 6))
    ours, theirs = last(cell, table[ids])[0][-1], last(tensor, written[ids])[0][-1]
    assert (ours - theirs).abs().max() < 1e-12
    assert (layer.matrix(table[0]) - layer.matrix(table[1])).abs().max() > 0.1


def test_factors_of_one_are_a_plain_tanh_network():
    cell, x = made("multiplicative")
    layer = cell.layers[0]
    x = torch.cat([torch.ones_like(x[..., :5]), x[..., 5:]], -1)
    state = torch.zeros(2, 4, dtype=torch.float64)
    for t in range(6):
        state = (
            x[:, t, 5:] + state @ (layer.recurrent.weight @ layer.to_factors.weight).T + layer.recurrent.bias
        ).tanh()
    assert torch.allclose(last(cell, x)[0][-1][:, -1], state, atol=1e-12)


def test_enough_factors_hold_any_tensor():
    """V x H factors: token v opens its own H of them, whose maps are its matrix and the identity."""
    tokens, width = 3, 4
    matrices = torch.randn(tokens, width, width, dtype=torch.float64)
    layer = MultiplicativeCell(factors=tokens * width).layer(0, width).double()
    with torch.no_grad():
        layer.to_factors.weight.copy_(matrices.flatten(0, 1))
        layer.recurrent.weight.copy_(torch.eye(width).repeat(1, tokens))
    opened = torch.eye(tokens, dtype=torch.float64).repeat_interleave(width, 1)
    for token in range(tokens):
        assert torch.allclose(layer.matrix(opened[token]), matrices[token])


def test_an_mlstm_that_multiplies_by_one_is_an_lstm():
    cell, x = made("mlstm without norm")
    layer = cell.layers[0]
    x = torch.cat([x[..., :2], torch.ones_like(x[..., :1])], -1)
    with torch.no_grad():
        layer.factors.weight.copy_(torch.eye(4))
        layer.factor_inputs.weight.copy_(torch.tensor([0.0, 0.0, 1.0]).expand(4, 3))
    whole = nn.LSTM(3, 4, batch_first=True).double()
    with torch.no_grad():
        whole.weight_ih_l0.copy_(layer.inputs.weight)
        whole.weight_hh_l0.copy_(layer.recurrent.weight)
        whole.bias_ih_l0.copy_(layer.inputs.bias)
        whole.bias_hh_l0.zero_()
    assert (last(cell, x)[0][-1] - whole(x)[0]).abs().max() < 1e-12
    with torch.no_grad():
        layer.factor_inputs.weight.normal_()
    assert (last(cell, x)[0][-1] - whole(x)[0]).abs().max() > 1e-2


def test_scaling_a_normed_map_changes_nothing_but_its_lengths_do():
    made = NormedLinear(3, 5).double()
    x = torch.randn(2, 3, dtype=torch.float64)
    before = made(x)
    with torch.no_grad():
        made.direction *= torch.rand(5, 1) + 0.5
    assert torch.allclose(made(x), before)
    with torch.no_grad():
        made.length *= 2
    assert torch.allclose(made(x), 2 * before)


def test_a_clipped_cell_stays_within():
    cell, x = made("clipped lstm")
    (outputs,), ((hidden, inner),) = last(cell, 10 * x)
    assert outputs.abs().max() <= 0.05
    assert inner.abs().max() == 0.05


def test_dropout_falls_where_it_is_said():
    x = torch.ones(50, 3, 4)
    assert torch.equal(RecurrentDropout().on(x, 0.0), x)
    free, locked = RecurrentDropout().on(x, 0.5), RecurrentDropout(locked=True).on(x, 0.5)
    assert (locked == locked[0]).all(), "one mask for all positions"
    assert not (free == free[0]).all()
    cell = LstmCell().build(4, 3, 2, RecurrentDropout(weights=0.5))
    y = torch.randn(2, 6, 3)
    torch.manual_seed(3)
    dropped = last(cell, y)[0][-1]
    torch.manual_seed(4)
    assert not torch.equal(dropped, last(cell, y)[0][-1])
    cell.eval()
    assert torch.equal(last(cell, y)[0][-1], last(cell, y)[0][-1])


@every_cell
def test_what_is_held_is_there_before_the_output_is_made(name):
    """Held at what it was anyway, nothing changes; held elsewhere, the output is that of a cell that was there."""
    cell, x = made(name)
    state, there = cell.start(2, x), []
    for now in x.split(1, dim=1):
        _, state = cell(now, state)
        there.append(carried(state)[0])
    (free,), end = last(cell, x)
    again = iter(there)
    cell.hold({0: lambda units: next(again).clone()})
    (same,), after = last(cell, x)
    assert torch.allclose(same, free, atol=1e-12)
    assert torch.allclose(carried(after)[0], carried(end)[0], atol=1e-12)
    cell.hold({0: lambda units: torch.full_like(units, 0.25)})
    (other,), after = last(cell, x)
    assert torch.equal(carried(after)[0], torch.full_like(there[0], 0.25))
    assert not torch.allclose(other, free, atol=1e-3)
    if name in ("lstm", "peepholes", "mlstm"):
        assert (other.abs() <= torch.tensor(0.25).tanh() + 1e-12).all(), "h = o * tanh(c) of the c that is held"
    cell.hold({})
    assert torch.equal(last(cell, x)[0][0], free)


def test_the_multiplicative_recipe_has_the_parameters_of_its_closed_form():
    """2HF + VF + VH + H + HV + V: the maps to and from the factors, two rows for each symbol, and the softmax."""
    hidden = factors = 1500
    made = shape_of(loader.load("mrnn"), Vocabulary(86, -1, ()))
    assert made.parameter_count() == 2 * hidden * factors + 86 * factors + 86 * hidden + hidden + hidden * 86 + 86
