"""CoVe: attention that is blind to padding, an encoder that is torch's, and wiring that can copy."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from foreword.networks.base import Inputs, Model
from foreword.networks.recurrent_encoder_decoder import GlobalAttention, RecurrentEncoderDecoderSpec
from foreword.objectives.translation import Translation
from foreword.parts.bidirectional_layers import BidirectionalLayers
from foreword.parts.heads import Softmax
from foreword.tokens.vocabulary import Vocabulary
from tests.unit.objectives.test_autoencode import Tokens as End


class Tokens(End):
    def has(self, name):
        return False


def network(width=6, size=12, **more):
    torch.manual_seed(0)
    spec = RecurrentEncoderDecoderSpec(width=width, embedding=5, **more)
    return spec.build(Vocabulary(size, 0, ())).double().eval()


def test_attention_sums_to_one_over_what_is_there_and_is_nothing_at_padding():
    attention = GlobalAttention(6, on=True).double()
    h, source = torch.randn(2, 6, dtype=torch.float64), torch.randn(2, 5, 6, dtype=torch.float64)
    real = torch.tensor([[True] * 5, [True, True, False, False, False]])
    shares = attention.shares(h, source, real)
    assert torch.allclose(shares.sum(1), torch.ones(2, dtype=torch.float64))
    assert (shares[1, 2:] == 0).all()
    assert (shares[0] > 0).all()
    off = GlobalAttention(6, on=False).double().shares(h, source, real)
    assert off[1].tolist() == [0.5, 0.5, 0, 0, 0]
    given = [x.requires_grad_() for x in (h, source)]
    weights = dict(attention.named_parameters())

    def answer(h, source, *values):
        return torch.func.functional_call(attention, dict(zip(weights, values)), (h, source, real))

    assert torch.autograd.gradcheck(answer, [*given, *(w.detach().requires_grad_() for w in weights.values())])


def test_the_encoder_is_torchs_and_padding_on_either_side_is_not_read():
    torch.manual_seed(0)
    encoder, whole = (
        BidirectionalLayers(3, 8, 2).double(),
        nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True).double(),
    )
    with torch.no_grad():
        for number, layer in enumerate(encoder.layers):
            for name, weight in layer.named_parameters():
                getattr(whole, name.replace("l0", f"l{number}")).copy_(weight)
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    assert torch.allclose(encoder(x, None)[-1], whole(x)[0], atol=1e-12)
    for real in ([True] * 4 + [False] * 2, [False] * 2 + [True] * 4):
        there = torch.tensor([real, [True] * 6])
        assert torch.allclose(encoder(x, there)[-1][0, there[0]], whole(x[:1, there[0]])[0][0], atol=1e-12)


def test_a_word_is_another_vector_in_another_sentence_but_its_own_is_the_same():
    made = network()
    one, other = made(Inputs(torch.tensor([[3, 9, 7, 4]]))), made(Inputs(torch.tensor([[3, 9, 7, 5]])))
    assert torch.equal(one.layers[0][0, 1], other.layers[0][0, 1])
    assert (one.last[0, 1] - other.last[0, 1]).abs().max() > 1e-6
    assert torch.equal(one.last, one.layers[-1])


def test_what_was_said_last_is_fed_back():
    """By hand, one position after the other, with the equations of the paper."""
    made = network()
    ids, source = torch.tensor([[2, 5, 8]]), torch.tensor([[3, 9, 7, 4]])
    read = made.encoder(made.tokens(source), None)[-1][0]
    said = torch.zeros(6, dtype=torch.float64)
    states = [(said[None], said[None])] * 2
    for t in range(3):
        x = torch.cat([made.targets.weight[ids[0, t]], said])[None]
        for number, cell in enumerate(made.decoder):
            states[number] = cell(x, states[number])
            x = states[number][0]
        alpha = (read @ made.attention.asks(x[0])).softmax(0)
        said = made.attention.says(torch.cat([read.T @ alpha, x[0]])).tanh()
        found = made(Inputs(ids[:, : t + 1], source=source)).last[0, t]
        assert torch.allclose(found, said, atol=1e-12)


@pytest.mark.slow
def test_attention_copies_and_without_it_nothing_is_copied():
    """8 tokens in any order: every one right in 99 of 100, and not without attention in the same steps."""
    found = {}
    for attention in (True, False):
        torch.manual_seed(0)
        net = network(48, 14, attention=attention, layers=1).float().train()
        whole = Model(net, {"tokens": Softmax(tied=False, bias=True).build(48, 14, None)})
        optimizer = torch.optim.Adam(whole.parameters(), 5e-3)
        objective = Translation(smoothing=0.0, start=1)
        draw = torch.Generator().manual_seed(1)

        def batch(rows, draw=draw, objective=objective):
            texts = torch.randint(2, 14, (rows, 8), generator=draw).numpy()
            return objective.batch(list(texts), list(texts), Tokens())

        for step in range(1500):
            given = batch(32)
            optimizer.zero_grad()
            (objective.charges(whole, net(given.inputs), given)["tokens"].total / given.guesses["tokens"]).backward()
            torch.nn.utils.clip_grad_norm_(whole.parameters(), 1.0)
            optimizer.step()
            for group in optimizer.param_groups:
                group["lr"] = 5e-3 * (1 - step / 1500)
        given = batch(500)
        with torch.no_grad():
            said = whole.eval().heads["tokens"].logits(net.eval()(given.inputs).last).argmax(-1)
        found[attention] = float((said == given.targets["tokens"]).float().mean())
    assert found[True] > 0.99
    assert found[False] < 0.9


def test_what_is_frozen_keeps_its_numbers():
    """The encoder as a trunk of features: no slopes, the same hash after learning."""
    from foreword.networks.features import FeaturesSpec

    spec = RecurrentEncoderDecoderSpec(width=6, embedding=6)
    made = FeaturesSpec(trunk=spec).build(Vocabulary(12, 0, ())).train()
    before = copy.deepcopy(made.trunk.state_dict())
    out = made(Inputs(torch.randint(0, 12, (3, 4)))).last
    out.square().sum().backward()
    torch.optim.SGD([p for p in made.parameters() if p.grad is not None], 0.1).step()
    assert all(weight.grad is None for weight in made.trunk.parameters())
    assert all(torch.equal(before[name], weight) for name, weight in made.trunk.state_dict().items())
    assert made.mix.weight.grad.abs().max() > 0
