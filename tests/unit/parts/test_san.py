"""The stochastic answer network against a plain loop, one pair and one number at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foreword.parts.san import AnswerNetwork, two_texts

WIDTH, CLASSES = 6, 3


def made(steps: int, order: str = "paper", skip: float = 0.0, dropout: float = 0.0) -> AnswerNetwork:
    torch.manual_seed(7)
    return AnswerNetwork(WIDTH, CLASSES, steps, dropout, skip, order).double()  # type: ignore[arg-type]


def pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of unequal lengths, padded: hidden, where each text stands."""
    lengths = [(3, 2), (1, 4), (5, 1)]
    rows, there, segments = max(a + b + 3 for a, b in lengths), [], []
    for first, second in lengths:
        real = first + second + 3
        there.append([True] * real + [False] * (rows - real))
        segments.append([0] * (first + 2) + [1] * (second + 1) + [0] * (rows - real))
    one, two = two_texts(torch.tensor(there), torch.tensor(segments))
    assert one.sum(1).tolist() == [a for a, _ in lengths]
    assert two.sum(1).tolist() == [b for _, b in lengths]
    return (
        torch.randn(len(lengths), rows, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
        one,
        two,
    )


def mean_by(scores: list[Tensor], vectors: list[Tensor]) -> Tensor:
    weights = [score.exp() for score in scores]
    return sum(weight * vector for weight, vector in zip(weights, vectors)) / sum(weights)  # type: ignore[return-value]


def gru(cell: torch.nn.GRUCell, x: Tensor, s: Tensor) -> Tensor:
    """Cho et al. 2014, in the form where the reset acts after the product."""

    def part(k: int, weight: Tensor, bias: Tensor, of: Tensor) -> Tensor:
        rows = slice(k * WIDTH, (k + 1) * WIDTH)
        return weight[rows] @ of + bias[rows]

    into = [part(k, cell.weight_ih, cell.bias_ih, x) for k in range(3)]
    back = [part(k, cell.weight_hh, cell.bias_hh, s) for k in range(3)]
    reset, keep = 1 / (1 + (-into[0] - back[0]).exp()), 1 / (1 + (-into[1] - back[1]).exp())
    return (1 - keep) * torch.tanh(into[2] + reset * back[2]) + keep * s


def loop(net: AnswerNetwork, hidden: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Probabilities, as section 3 of the paper has them."""
    found = []
    for row in range(len(hidden)):
        premise = [hidden[row, j] for j in range(hidden.size(1)) if first[row, j]]
        hypothesis = [hidden[row, j] for j in range(hidden.size(1)) if second[row, j]]
        s = mean_by([net.summary.weight[0] @ h for h in hypothesis], hypothesis)
        total = torch.zeros(CLASSES, dtype=torch.float64)
        for _ in range(net.steps):
            x = mean_by([(net.looks.weight @ s) @ p for p in premise], premise)
            after = gru(net.memory, x, s)
            judged = after if net.order == "paper" else s
            scores = net.out.weight @ torch.cat([judged, x, (judged - x).abs(), judged * x]) + net.out.bias
            total += scores.exp() / scores.exp().sum() / net.steps
            s = after
        found.append(total)
    return torch.stack(found)


@pytest.mark.parametrize("order", ["paper", "code"])
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_it_equals_a_plain_loop(steps: int, order: str) -> None:
    net, given = made(steps, order).eval(), pairs()
    with torch.no_grad():
        found, wanted = net(*given).exp(), loop(net, *given)
    assert torch.allclose(found, wanted, atol=1e-12)
    assert torch.allclose(found.sum(1), torch.ones(3, dtype=torch.float64), atol=1e-12)


def test_both_orders_differ_and_so_do_means_of_probabilities_and_of_logarithms() -> None:
    given = pairs()
    with torch.no_grad():
        paper, code = (made(3, order).eval()(*given) for order in ("paper", "code"))
        net = made(3).eval()
        net.out.weight.mul_(20)
        steps: list[Tensor] = []
        guess = net.guess
        net.guess = lambda state, seen: steps.append(guess(state, seen)) or steps[-1]  # type: ignore[method-assign, func-returns-value]
        found = net(*given)
    assert (paper - code).abs().max() > 1e-3
    assert torch.allclose(found, torch.stack(steps).exp().mean(0).log())
    assert (found - torch.stack(steps).mean(0).log_softmax(-1)).abs().max() > 1e-3


def test_one_step_in_the_order_of_the_code_is_bilinear_attention_and_one_layer() -> None:
    net, (hidden, first, second) = made(1, "code").eval(), pairs()
    with torch.no_grad():
        asked = (net.summary(hidden)[..., 0].masked_fill(~second, -torch.inf).softmax(1)[..., None] * hidden).sum(1)
        looked = (
            torch.einsum("bd,ed,bje->bj", asked, net.looks.weight, hidden).masked_fill(~first, -torch.inf).softmax(1)
        )
        seen = (looked[..., None] * hidden).sum(1)
        wanted = net.out(torch.cat([asked, seen, (asked - seen).abs(), asked * seen], 1)).log_softmax(1)
        assert torch.allclose(net(hidden, first, second), wanted, atol=1e-12)


def test_specials_and_padding_are_not_read() -> None:
    net, (hidden, first, second) = made(3).eval(), pairs()
    other = torch.where((first | second)[..., None], hidden, hidden + 5.0)
    with torch.no_grad():
        assert torch.equal(net(hidden, first, second), net(other, first, second))
        assert not torch.allclose(net(hidden, first, second), net(hidden + 0.1, first, second))


def test_an_empty_text_is_nothing_and_not_not_a_number() -> None:
    net, (hidden, first, second) = made(3), pairs()
    found = net(hidden, torch.zeros_like(first), second)
    found.sum().backward()
    assert bool(found.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in net.parameters() if p.grad is not None)


def test_never_are_all_steps_left_out_and_the_mean_stays_the_mean() -> None:
    net = made(3, skip=0.6).train()
    torch.manual_seed(0)
    shares = net.shares(torch.zeros(20_000, 3, CLASSES, dtype=torch.float64))
    assert bool(((shares > 0).sum(1) >= 1).all())
    assert torch.allclose(shares.sum(1), torch.ones(20_000, dtype=torch.float64))
    assert torch.allclose(shares.mean(0), torch.full((3,), 1 / 3, dtype=torch.float64), atol=0.01)
    some = shares[(shares > 0).sum(1) == 1].gt(0).double().mean(0)  # also where one had to be kept, any of them is
    assert torch.allclose(some, torch.full((3,), 1 / 3, dtype=torch.float64), atol=0.02)
    assert float((shares > 0).double().mean()) == pytest.approx(0.4 + 0.6**3 / 3, abs=0.01)


def test_chance_is_in_training_only() -> None:
    net, given = made(5, skip=0.5, dropout=0.3), pairs()
    with torch.no_grad():
        assert not torch.equal(net.train()(*given), net(*given))
        assert torch.equal(net.eval()(*given), net(*given))
        assert torch.allclose(net.train()(*given).exp().sum(1), torch.ones(3, dtype=torch.float64))


def test_gradients_are_those_of_the_numbers() -> None:
    net, (hidden, first, second) = made(2), pairs()
    hidden.requires_grad_()
    assert torch.autograd.gradcheck(lambda h: net(h, first, second), hidden)
