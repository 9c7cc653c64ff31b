"""Metrics and their intervals, against hand sums, closed forms and resampling done the slow way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foreword.basics.seeds import chance
from foreword.tasks import text_match
from foreword.tasks.confidence import wilson
from foreword.tasks.metrics import Matthews, Mean, Perplexity, Proportion, difference, value


def test_wilson_solves_its_own_equation():
    """Its ends are the shares p at which the number seen is just 1.96 standard deviations away."""
    for right, of in ((0, 10), (1, 10), (5, 10), (10, 10), (37, 200), (1999, 2000)):
        for p in wilson(right, of):
            assert (right / of - p) ** 2 == pytest.approx(1.959963985**2 * p * (1 - p) / of, abs=1e-9)
    low, high = wilson(0, 10)
    assert low == 0.0
    assert high == pytest.approx(0.2775, abs=1e-4)


def test_wilson_holds_the_truth_as_often_as_it_says():
    rng = chance(1)
    for p in (0.05, 0.25, 0.5):
        held = [low <= p <= high for low, high in (wilson(int(k), 200) for k in rng.binomial(200, p, size=2000))]
        assert 0.93 <= np.mean(held) <= 0.975


@pytest.mark.thorough
def test_the_bootstrap_holds_the_truth_as_often_as_it_says():
    rng = chance(2)
    held = [low <= 1.0 <= high for low, high in (Mean().interval(rng.exponential(size=150)) for _ in range(60))]
    assert 0.86 <= np.mean(held) <= 1.0
    low, high = Mean().interval(chance(3).normal(size=2500))
    assert high - low == pytest.approx(2 * 1.96 / 50, rel=0.15)


def test_shares_means_and_perplexity_are_hand_sums():
    assert value(Proportion(), [True, False, True, True]) == 0.75
    assert value(Mean(), [0.5, 0.25]) == 0.375
    assert value(Perplexity(), [math.log(2), math.log(8)]) == pytest.approx(4.0)
    assert Proportion().shown(0.25) == "25.0"
    assert Perplexity().shown(12.345) == "12.35"
    assert Perplexity().shown(1234.6) == "1,235"


def test_matthews_is_the_correlation_of_the_two_columns():
    rng = chance(4)
    guess, gold = rng.random(60) < 0.4, rng.random(60) < 0.6
    assert value(Matthews(), list(zip(guess, gold))) == pytest.approx(np.corrcoef(guess, gold)[0, 1])
    assert value(Matthews(), [(True, True), (True, False)]) == 0.0  # one answer only: no correlation


def test_a_difference_is_paired():
    """The same examples for both: a model that is right where the other is, and once more, is surely better by one."""
    rng = chance(5)
    first = list(rng.random(400) < 0.5)
    second = [one or place < 40 for place, one in enumerate(first)]
    apart = difference(Proportion(), first, second)
    gain, (low, high) = apart.value, apart.interval
    assert gain == pytest.approx((sum(second) - sum(first)) / 400)
    assert 0 < low < gain < high < 0.1
    none = difference(Proportion(), first, first)
    assert (none.value, none.interval, none.sign) == (0.0, (0.0, 0.0), 0)


def test_answers_are_compared_as_squad_does():
    assert text_match.normalised("The  Eiffel-Tower, a tower!") == "eiffeltower tower"
    assert text_match.exact_match("the Cat.", ["a dog", "cat"]) == 1.0
    assert text_match.word_f1("red big cat", ["the cat sat"]) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert text_match.word_f1("the", ["an"]) == 1.0  # nothing is left of either
    assert text_match.word_f1("", ["cat"]) == 0.0


def test_rouge_by_hand():
    assert text_match.rouge(1)("the cat sat", ["the cat ran off"]) == pytest.approx(2 * 2 / 7)
    assert text_match.rouge(2)("the cat sat", ["the cat ran off"]) == pytest.approx(2 * 1 / 5)
    assert text_match.rouge(None)("a b c d", ["b d a c"]) == pytest.approx(2 * 2 / 8)
    assert text_match.rouge(1)("", ["x"]) == 0.0
