from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError

from foreword.parts.cells import RecurrentDropout, SimpleCell
from foreword.parts.embeddings import Embeddings
from foreword.parts.heads import PooledClassHead, Softmax, TransformedSoftmax
from foreword.parts.lstm import LstmCell
from foreword.parts.stack import DropoutRates, Initial, StackSpec


def test_the_simple_cell_is_elmans():
    cell = SimpleCell(bptt=3).build(4, 4, 1).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    (outputs,), (last,) = cell(x, cell.start(2, x))
    state = torch.full((2, 4), 0.1, dtype=torch.float64)
    for t in range(5):
        state = torch.sigmoid(x[:, t] + state @ cell.layers[0].recurrent.weight.T)
        assert torch.allclose(outputs[:, t], state)
    assert torch.allclose(last, state)


@pytest.mark.parametrize("training", [False, True])
def test_layers_one_after_the_other_are_torchs_stacked_lstm(training):
    """Outputs, states and gradients, and the dropout that is drawn between layers."""
    cell = LstmCell().build(4, 3, 3, RecurrentDropout(between=0.3)).train(training)
    whole = torch.nn.LSTM(3, 4, 3, dropout=0.3, batch_first=True).train(training)
    whole.load_state_dict(cell.lstm.state_dict())
    x = torch.randn(2, 5, 3, requires_grad=True)
    state = tuple((torch.randn(2, 4), torch.randn(2, 4)) for _ in range(3))
    torch.manual_seed(1)
    layers, after = cell(x, state)
    torch.manual_seed(1)
    wanted, ends = whole(x, tuple(torch.stack(parts) for parts in zip(*state)))
    assert len(layers) == 3
    assert torch.allclose(layers[-1], wanted, atol=1e-6)
    assert all(torch.allclose(torch.stack(a), b, atol=1e-6) for a, b in zip(zip(*after), ends))
    ours = torch.autograd.grad(layers[-1].square().sum(), [x, *cell.parameters()])
    theirs = torch.autograd.grad(wanted.square().sum(), [x, *whole.parameters()])
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(ours, theirs))


@pytest.mark.parametrize("bptt", [1, 2, 5])
def test_gradients_go_back_as_far_as_said(bptt):
    cell = SimpleCell(bptt=bptt).build(3, 3, 1)
    x = torch.randn(1, 6, 3, requires_grad=True)
    (outputs,), _ = cell(x, cell.start(1, x))
    for t in range(6):
        (gradient,) = torch.autograd.grad(outputs[0, t].sum(), x, retain_graph=True)
        reached = [bool(gradient[0, s].abs().sum() > 0) for s in range(6)]
        assert reached == [t - t % bptt <= s <= t for s in range(6)]


def test_cells_say_what_they_cannot_follow():
    assert [name for name, _ in SimpleCell().misfits(4, 5, 2)] == ["layers", "embedding"]
    assert LstmCell().misfits(4, 5, 2) == []


def test_a_tied_head_shares_its_table_and_an_untied_one_does_not():
    table = torch.nn.Parameter(torch.randn(10, 4))
    assert Softmax(tied=True).build(4, 10, table).out.weight is table
    assert Softmax(tied=False).build(4, 10, table).out.weight is not table
    assert TransformedSoftmax().build(4, 10, table).out.bias is not None


@pytest.mark.parametrize("spec", [Softmax(bias=True), TransformedSoftmax()])
def test_nll_and_log_probs_agree(spec):
    head = spec.build(4, 10, torch.nn.Parameter(torch.randn(10, 4)))
    hidden, targets = torch.randn(7, 4), torch.randint(0, 10, (7,))
    logs = head.log_probs(hidden)
    assert logs.exp().sum(-1).tolist() == pytest.approx([1.0] * 7)
    assert torch.allclose(head.nll(hidden, targets), -logs[torch.arange(7), targets], atol=1e-5)


def test_the_transformed_head_is_dense_act_norm():
    head = TransformedSoftmax().build(4, 10, torch.nn.Parameter(torch.randn(10, 4))).double()
    x = torch.randn(3, 4, dtype=torch.float64)
    middle = F.layer_norm(F.gelu(head.dense(x)), (4,), head.norm.weight, head.norm.bias, 1e-12)
    assert torch.allclose(head.logits(x), middle @ head.out.weight.T + head.out.bias)
    pooled = PooledClassHead(4, 2).double()
    assert torch.allclose(pooled(x[None]), pooled.out(torch.tanh(pooled.pool(x[:1]))))


SPEC = {"layers": 8, "width": 64, "heads": 4, "context": 16}


def test_weights_are_drawn_as_said():
    torch.manual_seed(0)
    spec = StackSpec(**SPEC, initial=Initial(deviation=0.02, positions=0.01, residuals="scaled"))
    blocks = spec.blocks()
    for block in blocks:
        assert float(block.attention.project.weight.detach().std()) == pytest.approx(0.02, rel=0.05)
        for out in (block.attention.out, block.feedforward.out):
            assert float(out.weight.detach().std()) == pytest.approx(0.02 / math.sqrt(16), rel=0.05)
        assert not block.attention.project.bias.any()
        assert (block.first.norm.weight == 1).all()
    made = Embeddings(spec, 500)
    assert float(made.tokens.weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(made.positions.weight.detach().std()) == pytest.approx(0.01, rel=0.1)
    cut = StackSpec(**SPEC, initial=Initial(deviation=0.02, truncated=True)).blocks()
    assert all(float(block.feedforward.inner.weight.detach().abs().max()) <= 0.04 for block in cut)


def test_gpt1_drops_entries_of_the_table_itself():
    made = Embeddings(StackSpec(**SPEC, dropout=DropoutRates(table=0.5)), 50)
    ids = torch.full((1, 16), 7)
    made.train()
    torch.manual_seed(1)
    torch.nn.init.zeros_(made.positions.weight)
    token = made(ids, torch.arange(16))[0]
    assert (token == token[0]).all(), "the same token loses the same entries everywhere"
    assert 0.1 < (token[0] == 0).float().mean() < 0.9
    made.eval()
    assert torch.equal(made(ids, torch.arange(16)), made.tokens(ids))


def test_a_stack_says_what_does_not_fit():
    assert StackSpec(**{**SPEC, "heads": 5}).faults()[0][0] == "heads"
    with pytest.raises(ValidationError) as caught:
        StackSpec(**{**SPEC, "layers": 0, "context": -1})
    assert {error["loc"][0] for error in caught.value.errors()} == {"layers", "context"}
    assert not StackSpec(**SPEC).faults()
