"""The neural probabilistic language model: counted, and beside its formula."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from foreword.assembly import loader
from foreword.assembly.build import model_for, shape_of
from foreword.networks.base import Inputs
from foreword.tokens.vocabulary import Vocabulary

WORDS = Vocabulary(11, 0, ())


def model(*settings):
    torch.manual_seed(0)
    small = ["network.window=3", "network.embedding=2", "network.width=4", *settings]
    return model_for(loader.load("nplm", "", small), WORDS).double().eval()


@pytest.mark.parametrize("direct", [True, False])
def test_it_has_as_many_parameters_as_the_paper_says(direct):
    size, n, m, h = 16_383, 5, 60, 50
    made = shape_of(loader.load("nplm", "", [f"network.direct={str(direct).lower()}"]), Vocabulary(size, 0, ()))
    assert made.parameter_count() == size * (1 + n * m + h) + h * (1 + (n - 1) * m) - (not direct) * size * (n - 1) * m


def test_it_is_the_papers_formula():
    made, ids = model(), torch.tensor([[3, 7, 1, 9, 2]])
    x = torch.cat([made.network.tokens.weight[token] for token in (2, 9, 1)])  # newest first
    hidden = made.network.hidden
    top = made.heads["tokens"].out
    wanted = top.bias + top.weight @ torch.cat([(hidden.weight @ x + hidden.bias).tanh(), x])
    found = made.heads["tokens"].logits(made.network(Inputs(ids)).last)[0, -1]
    assert torch.allclose(found, wanted, atol=1e-12)
    sums = made.heads["tokens"].log_probs(made.network(Inputs(ids)).last).exp().sum(-1).detach()
    assert (sums - 1).abs().max() < 1e-6


def test_looking_a_vector_up_is_multiplying_a_one_hot_word():
    made, ids = model(), torch.tensor([[3, 7, 1]])
    table = made.network.tokens.weight
    assert torch.allclose(made.network.tokens(ids), F.one_hot(ids, 11).double() @ table)
    (looked_up,) = torch.autograd.grad(made.network.tokens(ids).square().sum(), table)
    (multiplied,) = torch.autograd.grad((F.one_hot(ids, 11).double() @ table).square().sum(), table)
    assert torch.allclose(looked_up, multiplied)


def test_before_a_text_stands_the_end_of_another():
    made = model().network
    alone, after = made(Inputs(torch.tensor([[5, 6]]))).last, made(Inputs(torch.tensor([[0, 0, 5, 6]]))).last
    assert torch.equal(alone, after[:, 2:])
    other = made(Inputs(torch.tensor([[4, 3, 5, 6]]))).last
    assert not torch.equal(alone, other[:, 2:])


def test_order_matters_unless_two_places_weigh_the_same():
    made = model("network.direct=false").network
    one, other = Inputs(torch.tensor([[3, 7, 1]])), Inputs(torch.tensor([[7, 3, 1]]))
    assert not torch.allclose(made(one).last[:, -1], made(other).last[:, -1])
    with torch.no_grad():
        made.hidden.weight[:, 4:6] = made.hidden.weight[:, 2:4]
    assert torch.allclose(made(one).last[:, -1], made(other).last[:, -1])


def test_direct_connections_alone_are_a_log_linear_model():
    """U = 0: the loss and its gradient are those of multinomial logistic regression on the words' vectors."""
    linear = pytest.importorskip("sklearn.linear_model._linear_loss")
    made, ids = model(), torch.randint(0, 11, (1, 40))
    head, hidden = made.heads["tokens"].out, made.network.spec.width
    with torch.no_grad():
        head.weight[:, :hidden] = 0
    x = made.network(Inputs(ids[:, :-1])).last[0].detach()
    made.heads["tokens"].total(x, ids[0, 1:]).backward()
    features, weights = x[:, hidden:].numpy(), head.weight[:, hidden:].detach()
    from sklearn._loss import HalfMultinomialLoss

    loss = linear.LinearModelLoss(HalfMultinomialLoss(n_classes=11), fit_intercept=True)
    given = torch.cat([weights, head.bias.detach()[:, None]], 1).numpy()
    _, slope = loss.loss_gradient(given.copy(order="F"), features.copy(), ids[0, 1:].double().numpy())
    slope = torch.from_numpy(slope.reshape(11, -1, order="F")) * (40 - 1)
    assert (slope[:, :-1] - head.weight.grad[:, hidden:]).abs().max() < 1e-6
    assert (slope[:, -1] - head.bias.grad).abs().max() < 1e-6
