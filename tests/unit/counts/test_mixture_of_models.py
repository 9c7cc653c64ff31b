"""Mixtures of whole models, and EM for their weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.counts.mixture import MixtureOfModels, rounds
from foreword.counts.ngrams import NGram
from foreword.counts.smoothed import SmoothedNGram
from foreword.tokens.vocabulary import Vocabulary


@pytest.fixture
def models(vocabulary, train, held_out):
    out = []
    for spec in (NGram(order=0), NGram(order=2), SmoothedNGram(order=4)):
        model = spec.build(vocabulary)
        model.count(train)
        model.estimate(held_out)
        out.append(model)
    return out


def test_a_mixture_sums_to_one_and_steps_as_it_scores(models, vocabulary, held_out):
    mixture = MixtureOfModels(models, np.array([0.2, 0.3, 0.5]))
    text = np.append(vocabulary.end, held_out[:80])
    log_probs, state = mixture.begin([text[:1], np.array([3, 4])])
    steps = []
    for token in text[1:]:
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)
        steps.append(log_probs[0, token])
        log_probs, state = mixture.advance(np.array([token, token]), state)
    np.testing.assert_allclose(mixture.score([text], [1])[0], steps, rtol=0, atol=1e-12)
    assert (log_probs[:, list(vocabulary.silent)] == -np.inf).all()
    twice, _ = mixture.advance(np.array([1, 1]), mixture.select(state, np.array([1, 1])))
    np.testing.assert_array_equal(twice[0], twice[1])


def test_all_weight_on_one_model_is_that_model(models, held_out):
    mixture = MixtureOfModels(models, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(mixture.score([held_out], [1])[0], models[2].score([held_out], [1])[0], atol=1e-14)


def test_em_never_loses_likelihood():
    rng = chance(7)
    each = list(np.log(rng.random((4, 300))))
    each[1][::7] = -np.inf
    trace = [likelihood for _, likelihood in itertools.islice(rounds(each), 200)]
    assert (np.diff(trace) >= -1e-13).all()
    assert trace[-1] > trace[0]


def test_the_fitted_weights_are_the_best(models, vocabulary, held_out):
    """One dimension: compared with a fine grid."""
    text = np.append(vocabulary.end, held_out[held_out != vocabulary.end])
    each = [models[1].score([text], [1])[0], models[2].score([text], [1])[0]]
    mixture = MixtureOfModels(models[1:])
    fitted = mixture.fit(each)
    np.testing.assert_array_equal(fitted, mixture.weights)
    grid = np.linspace(0, 1, 1001)
    with np.errstate(divide="ignore"):
        likelihoods = [np.logaddexp(np.log(w) + each[0], np.log(1 - w) + each[1]).mean() for w in grid]
    assert abs(fitted[0] - grid[np.argmax(likelihoods)]) < 2e-3


def test_a_perfect_model_gets_all_the_weight(models):
    rng = chance(8)
    each = [np.log(rng.random(200) * 0.5), np.zeros(200), np.log(rng.random(200) * 0.9)]
    weights = MixtureOfModels(models).fit(each)
    assert weights[1] > 1 - 1e-6


def test_what_no_model_can_write_does_not_spoil_the_fit(models):
    each = [np.array([-1.0, -np.inf, -1.0]), np.array([-1.0, -np.inf, -2.0]), np.array([-3.0, -np.inf, -9.0])]
    weights = MixtureOfModels(models).fit(each)
    assert np.isfinite(weights).all()
    assert np.isclose(weights.sum(), 1)
    with pytest.raises(Fault, match="nothing to fit weights on"):
        MixtureOfModels(models).fit([np.array([-np.inf])] * 3)


def test_models_that_answer_in_torch_can_be_mixed(models, vocabulary, held_out):
    torch = pytest.importorskip("torch")

    class Neural:
        vocabulary, context = models[2].vocabulary, 64

        def begin(self, prompts):
            answer, state = models[2].begin(prompts)
            return torch.from_numpy(answer), state

        def score(self, sequences, starts):
            return [torch.from_numpy(one) for one in models[2].score(sequences, starts)]

    mixture = MixtureOfModels([models[1], Neural()])
    assert mixture.context == 64
    twin = MixtureOfModels([models[1], models[2]])
    answer, _ = mixture.begin([held_out[:5]])
    assert isinstance(answer, np.ndarray)
    np.testing.assert_array_equal(answer, twin.begin([held_out[:5]])[0])
    np.testing.assert_array_equal(mixture.score([held_out], [1])[0], twin.score([held_out], [1])[0])


def test_different_vocabularies_and_wrong_weights_are_refused(models):
    with pytest.raises(Fault, match="different vocabularies"):
        MixtureOfModels([models[0], NGram(order=0).build(Vocabulary(size=4, end=3, silent=()))])
    with pytest.raises(Fault, match="sum to 1"):
        MixtureOfModels(models, np.array([0.5, 0.5, 0.5]))
    with pytest.raises(Fault, match="at least one"):
        MixtureOfModels([])
