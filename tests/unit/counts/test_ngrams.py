"""Uniform, add-k and interpolated orders, by the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.counts.deleted_interpolation import HeldOutCounts, share_round, shares_of, weights_of
from foreword.counts.ngrams import GRID, NGram
from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import JelinekMercer
from foreword.tokens.vocabulary import Vocabulary

END = 3
ABAC = np.array([0, 1, 0, 2, END])  # a b a c


def mixture(order, weights="fitted"):
    return SmoothedNGram(order=order, smoothing=JelinekMercer(buckets=1, weights=weights))


def small(spec, held_out=None):
    model = spec.build(Vocabulary(size=4, end=END, silent=()))
    model.count(np.concatenate([ABAC, ABAC]))
    model.estimate(held_out)
    return model


def test_uniform_bytes_cost_exactly_eight_bits():
    model = NGram(order=0).build(Vocabulary(size=259, end=256, silent=(257, 258)))
    scores = model.score([np.array([256, 0, 100, 255])], [1])[0]
    np.testing.assert_array_equal(scores, np.log(1 / 256))
    assert -scores.sum() / np.log(2) == 24
    assert model.begin([np.array([], int)])[0][0, 256] == -np.inf


def test_add_k_is_the_formula():
    k = 0.5
    model = small(NGram(order=2, add=k))
    got = np.exp(model.begin([np.array([0]), np.array([END]), np.array([2])])[0])
    np.testing.assert_allclose(got[0], (np.array([0, 2, 2, 0]) + k) / (4 + 4 * k), atol=1e-15)
    np.testing.assert_allclose(got[1], (np.array([2, 0, 0, 0]) + k) / (2 + 4 * k), atol=1e-15)
    np.testing.assert_allclose(got[2], (np.array([0, 0, 0, 2]) + k) / (2 + 4 * k), atol=1e-15)
    single = np.exp(small(NGram(order=1, add=k)).begin([np.array([2])])[0][0])
    np.testing.assert_allclose(single, (np.array([4, 2, 2, 2]) + k) / (10 + 4 * k), atol=1e-15)


def test_a_history_never_seen_predicts_all_alike_however_well_known_its_end_is():
    trigram = small(NGram(order=3, add=0.1))
    np.testing.assert_allclose(np.exp(trigram.begin([np.array([2, 1])])[0]), 0.25)
    assert np.exp(trigram.begin([np.array([1])])[0][0, 0]) > 0.8  # only one token known: pairs are all there is


def test_the_start_of_a_document_is_a_history_as_good_as_a_long_one():
    """'<s> a b' is all that is before the third token, however long the order."""
    for order in (3, 4, 5, 8):
        model = small(NGram(order=order, add=0.5))
        expected = np.log([2.5 / 4, 2.5 / 4, 2.5 / 4, 2.5 / 4, 2.5 / 4])
        np.testing.assert_allclose(model.score([np.append(END, ABAC)], [1])[0], expected, atol=1e-15)


def test_a_document_that_is_not_finished_does_not_become_the_history_of_the_first():
    model = NGram(order=2, add=0.0).build(Vocabulary(size=4, end=END, silent=()))
    model.count(np.array([0, 1, END, 0, 2]))
    model.estimate(None)
    np.testing.assert_allclose(np.exp(model.begin([np.array([], int)])[0][0]), [1, 0, 0, 0])
    np.testing.assert_allclose(np.exp(model.begin([np.array([2])])[0][0]), 0.25)  # nothing ever followed it


def test_adding_ever_more_tends_to_uniform():
    distances = [
        np.abs(np.exp(small(NGram(order=2, add=k)).begin([np.array([0])])[0]) - 0.25).max()
        for k in (0.01, 1.0, 100.0, 1e9)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-8


def test_plain_counts_call_the_unseen_impossible_without_crashing():
    model = small(NGram(order=2, add=0.0))
    assert model.score([np.array([0, 0, 1])], [1])[0].tolist() == [-np.inf, np.log(0.5)]


def test_the_fitted_k_is_the_best_of_the_grid(vocabulary, train, held_out):
    model = NGram(order=3).build(vocabulary)
    model.count(train)
    model.estimate(held_out)
    text = np.append(vocabulary.end, held_out)
    likelihoods = []
    for k in GRID:
        fixed = NGram(order=3, add=float(k)).build(vocabulary)
        fixed.count(train)
        fixed.estimate(None)
        likelihoods.append(fixed.score([text], [1])[0].sum())
    assert model.add == GRID[np.argmax(likelihoods)]
    assert GRID[0] < model.add < GRID[-1]


def test_without_held_out_text_each_history_is_given_one_count():
    assert small(NGram(order=2)).add == 1 / 4


def test_a_mixture_of_orders_is_the_weighted_sum():
    weights = [0.1, 0.2, 0.3, 0.4]
    model = small(mixture(order=3, weights=weights))
    uniform, single = np.full(4, 0.25), np.array([4, 2, 2, 2]) / 10
    after_a, after_ba = np.array([0, 0.5, 0.5, 0]), np.array([0, 0, 1.0, 0])
    got = np.exp(model.begin([np.array([END, 0, 1, 0]), np.array([2, 0])])[0])
    np.testing.assert_allclose(got[0], 0.1 * uniform + 0.2 * single + 0.3 * after_a + 0.4 * after_ba, atol=1e-15)
    # 'c a' was never seen: the others share its weight in proportion
    np.testing.assert_allclose(got[1], (0.1 * uniform + 0.2 * single + 0.3 * after_a) / 0.6, atol=1e-15)


def test_one_hundredth_of_uniform_is_enough_to_allow_everything():
    model = small(mixture(order=1, weights=[0.01, 0.99]))
    assert np.isfinite(model.begin([np.array([], int)])[0]).all()
    assert np.isclose(np.exp(model.begin([np.array([], int)])[0][0, 0]), 0.01 * 0.25 + 0.99 * 0.4)


def test_shares_and_weights_say_the_same():
    for weights in ([0.1, 0.2, 0.3, 0.4], [1.0, 0, 0, 0], [0, 0, 0, 1.0], [0.5, 0, 0.5, 0]):
        np.testing.assert_allclose(weights_of(shares_of(np.array(weights))), weights, atol=1e-15)


@pytest.mark.parametrize("buckets", [1, 7])
def test_em_on_orders_never_loses_likelihood(buckets):
    rng = np.random.default_rng(0)
    seen = rng.random((5, 400)) * rng.integers(0, 2, (5, 400))
    seen[0] = 0.01
    usable = np.cumprod(rng.random((5, 400)) < 0.8, 0).astype(bool)
    usable[0] = True
    seen *= usable
    bucket = rng.integers(0, buckets, usable.shape)
    shares, trace = np.tile(np.array([1.0, 0.9, 0.1, 0.5, 0.99])[:, None], buckets), []
    for _ in range(60):
        shares, likelihood = share_round(shares, HeldOutCounts(seen, usable, bucket))
        trace.append(likelihood)
    assert (np.diff(trace) >= -1e-12).all()
    assert trace[-1] > trace[0] + 0.01
    assert np.isclose(weights_of(shares[:, 0]).sum(), 1)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_fitted_weights_are_at_a_maximum(order, vocabulary, train, held_out):
    model = mixture(order=order).build(vocabulary)
    model.count(train)
    model.estimate(held_out)
    text = np.append(vocabulary.end, held_out)
    best = model.score([text], [1])[0].sum()
    assert np.isclose(model.fitted["weights"].sum(), 1)
    for other in range(order + 1):
        for step in (0.03, -0.03):
            moved = np.maximum(model.fitted["weights"] + step * (np.arange(order + 1) == other), 0)
            moved /= moved.sum()
            if moved[0] < model.fitted["weights"][0]:
                continue  # it never falls to nothing
            near = mixture(order=order, weights=moved.tolist()).build(vocabulary)
            near.count(train)
            near.estimate(None)
            assert near.score([text], [1])[0].sum() <= best + 1e-4


def test_without_held_out_text_all_orders_weigh_the_same(capsys):
    np.testing.assert_array_equal(small(mixture(order=3)).fitted["weights"], 0.25)
    assert "no held-out text" in capsys.readouterr().err
