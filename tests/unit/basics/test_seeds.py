import numpy as np
import pytest

from foreword.basics.seeds import Permutation, chance, number_of


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097, 65536, 100_003])
def test_a_permutation_is_a_bijection(size):
    found = Permutation(size, 3, 1).at(np.arange(size))
    assert np.array_equal(np.sort(found), np.arange(size))


def test_one_place_of_a_huge_permutation_costs_nothing():
    huge = Permutation(10**15, 0)
    places = {huge[i] for i in range(200)}
    assert len(places) == 200
    assert max(places) > 10**14
    assert all(0 <= place < 10**15 for place in places)


def test_permutations_differ_by_seed_and_are_not_nearly_the_order():
    one, other = (Permutation(1000, 0, epoch).at(np.arange(1000)) for epoch in (0, 1))
    assert (one == other).mean() < 0.02
    assert (one == np.arange(1000)).mean() < 0.02
    assert (np.diff(one) == 1).mean() < 0.02


def test_every_row_is_equally_likely_at_the_front():
    """The first of 8 rows over 4,000 seeds: uniform."""
    from scipy.stats import chisquare

    first = np.bincount([Permutation(8, seed)[0] for seed in range(4000)], minlength=8)
    assert chisquare(first).pvalue > 0.001


def test_chance_depends_on_its_numbers_and_nothing_else():
    np.random.seed(1)
    assert chance(1, 2).random(5).tolist() == chance(1, 2).random(5).tolist()
    assert len({chance(*numbers).random() for numbers in ((1, 2), (2, 1), (1,), (1, 2, 0), (12,), (-1, 2))}) == 6
    assert number_of("a", 1) == number_of("a", 1) != number_of("a1")
    assert 0 <= number_of("x") < 2**63
