"""Dynamic evaluation: what is charged was not learned from yet, and the model on disk stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault
from foreword.networks.dynamic import PIECE, DynamicReader
from tests.tiny import drawn, tiny


@pytest.fixture(scope="module")
def text(store):
    return store().document(0)[:75]


@pytest.fixture
def model(store):
    return drawn(tiny("lstm"), store().tokenizer, dtype=torch.float64)


def reader(model, store, rate=0.05):
    return DynamicReader(model, store().tokenizer.vocabulary(), rate)


def test_a_token_costs_what_it_cost_before_it_was_seen(model, store, text):
    """Whatever stands behind a token changes nothing of its score; what stands before it does, through the weights too."""
    whole = reader(model, store).score([text], [1])[0]
    for at in (PIECE - 1, PIECE, PIECE + 1, 60):
        other = text.copy()
        other[at:] = (other[at:] + 9) % 500
        assert np.array_equal(reader(model, store).score([other], [1])[0][: at - 1], whole[: at - 1]), at
    still = reader(model, store, 0.0).score([text], [1])[0]
    assert np.allclose(still[:PIECE], whole[:PIECE], atol=1e-12)
    assert not np.allclose(still[PIECE:], whole[PIECE:], atol=1e-6)


def test_without_a_rate_it_is_the_reader_and_starts_only_cut(model, store, text):
    plain = model.language_model(store().tokenizer.vocabulary()).score([text, text[:30]], [1, 12])
    for one, other in zip(plain, reader(model, store, 0.0).score([text, text[:30]], [1, 12])):
        assert np.allclose(one, other, atol=1e-9)


def test_what_it_learns_stays_and_is_its_own(model, store, text):
    before = {name: tensor.clone() for name, tensor in model.weights().items()}
    learning = reader(model, store)
    first, again = learning.score([text, text], [1, 1])
    assert again.sum() > first.sum() + 1.0, "the same text a second time is likelier"
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.weights().items())


def test_a_network_with_a_context_is_refused(store):
    with pytest.raises(Fault, match="for recurrent networks"):
        reader(drawn(tiny("gpt2"), store().tokenizer), store)
