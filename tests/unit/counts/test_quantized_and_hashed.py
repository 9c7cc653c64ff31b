"""Few bits for a probability cost little and keep sums of one; hashing finds what halving finds."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.columns import PER_TOKEN
from foreword.basics.seeds import chance
from foreword.counts.hashed import HashIndex
from foreword.counts.quantized import Coded
from foreword.counts.smoothed import SmoothedModel, SmoothedNGram
from foreword.counts.smoothing import WittenBell
from foreword.tokens.vocabulary import Vocabulary


def trained(spec: SmoothedNGram, vocabulary: Vocabulary, ids: np.ndarray, memory: int | None = None) -> SmoothedModel:
    model = spec.build(vocabulary)
    if memory:
        model.bounded(memory)
    model.count(ids)
    model.estimate(None)
    return model


def test_a_probability_is_rounded_down_to_one_of_few(vocabulary, train):
    exact = trained(SmoothedNGram(order=4), vocabulary, train)
    few = trained(SmoothedNGram(order=4, quantize=3), vocabulary, train)
    for length in (2, 3, 4):
        table, whole = few.probability[length - 1], exact.probability[length - 1]
        assert isinstance(table, Coded)
        assert table.codes.dtype == np.uint8
        assert len(table.values) <= 8
        assert (np.asarray(table) <= whole + 1e-15).all()
        assert np.asarray(table).min() == whole.min()
    np.testing.assert_array_equal(few.probability[0], exact.probability[0])


def test_more_bits_cost_less(vocabulary, train, held_out):
    text = np.append(vocabulary.end, held_out)
    costs = [
        -trained(SmoothedNGram(order=4, quantize=bits), vocabulary, train).score([text], [1])[0].mean()
        for bits in (1, 3, 8, None)
    ]
    assert costs[0] > costs[1] > costs[3]
    assert costs[2] == pytest.approx(costs[3], rel=0.02)


@pytest.mark.parametrize("block", [40, 500])
def test_bounded_memory_changes_no_bit(block, vocabulary, train):
    spec = SmoothedNGram(order=4, quantize=4, prune=[0, 0, 1])
    whole, pieces = (trained(spec, vocabulary, train, memory) for memory in (None, PER_TOKEN * 2 * block))
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, pieces.arrays()[name], err_msg=name)


def test_where_every_token_was_seen_the_order_stays_exact_and_sums_to_one(capsys):
    """Four letters, each after each: rounding down leaves something over that no unseen token could take."""
    ids, vocabulary = chance(2).integers(0, 4, 2000), Vocabulary(size=4, end=-1, silent=())
    model = trained(SmoothedNGram(order=3, smoothing=WittenBell(), quantize=2), vocabulary, ids)
    assert "stay exact" in capsys.readouterr().err
    prompts = [np.array([a, b]) for a in range(4) for b in range(4)]
    np.testing.assert_allclose(np.exp(model.begin(prompts)[0]).sum(1), 1, rtol=0, atol=1e-10)


def test_hashing_finds_what_halving_finds():
    draw = chance(4)
    for size in (0, 1, 2, 3, 1000, 4096, 5000):
        keys = np.unique(draw.integers(0, 10 * size + 10, size))
        index = HashIndex(keys)
        asked = np.concatenate([keys, draw.integers(0, 10 * size + 10, 3000)])
        at = np.searchsorted(keys, asked)
        there = np.isin(asked, keys)
        np.testing.assert_array_equal(index.find(asked), np.where(there, at, -1))
        assert (index.slots >= 0).sum() == len(keys)
        assert len(index.slots) >= 2 * len(keys)


def test_a_hashed_model_gives_the_same_bits(vocabulary, train, held_out):
    text = np.append(vocabulary.end, held_out)
    plain, hashed = (trained(SmoothedNGram(order=5, hashed=one), vocabulary, train) for one in (None, True))
    np.testing.assert_array_equal(plain.score([text], [1])[0], hashed.score([text], [1])[0])
    np.testing.assert_array_equal(plain.begin([text[:4], text[:9]])[0], hashed.begin([text[:4], text[:9]])[0])
