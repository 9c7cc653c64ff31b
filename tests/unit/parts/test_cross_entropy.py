"""The fused sum is the plain sum: same value, same gradients, whatever the number of rows."""

import pytest
import torch
import torch.nn.functional as F

from foreword.parts import cross_entropy
from foreword.parts.cross_entropy import summed_nll


@pytest.fixture(autouse=True)
def in_pieces(monkeypatch):
    """Also where logits are so few that torch would be asked."""
    monkeypatch.setattr(cross_entropy, "FEW", 0)


@pytest.fixture(params=[0, 1, 7, 512, 1300])
def guesses(request):
    torch.manual_seed(request.param)
    rows, width, vocabulary = request.param, 24, 97
    hidden = torch.randn(rows, width, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(vocabulary, width, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(vocabulary, dtype=torch.float64, requires_grad=True)
    return hidden, weight, bias, torch.randint(vocabulary, (rows,))


@pytest.mark.parametrize("biased", [True, False])
def test_value_and_gradients_equal_the_plain_ones(guesses, biased):
    hidden, weight, bias, targets = guesses
    inputs = [hidden, weight] + ([bias] if biased else [])
    fused = summed_nll(hidden, weight, bias if biased else None, targets)
    plain = F.cross_entropy(F.linear(hidden, weight, bias if biased else None), targets, reduction="sum")
    assert torch.allclose(fused, plain, rtol=1e-10, atol=1e-10)
    for ours, theirs in zip(torch.autograd.grad(fused * 0.37, inputs), torch.autograd.grad(plain * 0.37, inputs)):
        assert torch.allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_a_weight_that_is_also_the_input_table_gets_both_gradients():
    torch.manual_seed(0)
    table = torch.randn(50, 8, dtype=torch.float64, requires_grad=True)
    ids, targets = torch.randint(50, (30,)), torch.randint(50, (30,))
    fused = summed_nll(F.embedding(ids, table), table, None, targets)
    plain = F.cross_entropy(F.embedding(ids, table) @ table.t(), targets, reduction="sum")
    assert torch.allclose(*(torch.autograd.grad(total, table)[0] for total in (fused, plain)), rtol=1e-10, atol=1e-10)


def test_all_logits_never_exist_together(monkeypatch):
    """Of 4,096 guesses over 5,000 tokens, no tensor in the graph is larger than a few pieces of logits."""
    widest = []
    plain = torch.Tensor.amax
    monkeypatch.setattr(
        torch.Tensor, "amax", lambda logits, *a, **k: widest.append(logits.numel()) or plain(logits, *a, **k)
    )
    hidden, weight = torch.randn(4096, 8, requires_grad=True), torch.randn(5000, 8, requires_grad=True)
    summed_nll(hidden, weight, None, torch.zeros(4096, dtype=torch.long)).backward()
    assert max(widest) == (cross_entropy.LOGITS // 5000) * 5000 < 4096 * 5000 / 8


def test_passing_back_twice_is_refused_rather_than_wrong():
    hidden, weight = torch.randn(6, 4, requires_grad=True), torch.randn(9, 4, requires_grad=True)
    loss = summed_nll(hidden, weight, None, torch.arange(6))
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="already"):
        loss.backward()


def test_few_logits_are_made_at_once_and_cost_the_same(guesses, monkeypatch):
    hidden, weight, bias, targets = guesses
    in_pieces = summed_nll(hidden, weight, bias, targets)
    monkeypatch.setattr(cross_entropy, "FEW", 10**9)
    monkeypatch.setattr(cross_entropy, "_Summed", None)  # not asked
    assert torch.allclose(summed_nll(hidden, weight, bias, targets), in_pieces, rtol=1e-12, atol=1e-12)
