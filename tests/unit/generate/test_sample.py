from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.generate.sample import Sampling

P = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
LOGS = torch.log(torch.tensor(P))[None]
WIDE = torch.randn(3, 5000, generator=torch.Generator().manual_seed(4)).mul(2).log_softmax(-1)  # a vocabulary of many


def kept(how, log_probs=LOGS, **more):
    ids, scores = how.candidates(log_probs, **more)
    there = np.isfinite(scores[0])
    return np.flatnonzero(there).tolist() if ids is None else ids[0][there].tolist()


@pytest.mark.parametrize(("k", "left"), [(0, 5), (1, 1), (3, 3), (5, 5), (99, 5)])
def test_top_k_keeps_k(k, left):
    assert kept(Sampling(top_k=k)) == list(range(left))


def test_top_k_keeps_k_of_equals():
    assert kept(Sampling(top_k=2), torch.full((1, 6), -math.log(6))) == [0, 1]
    assert kept(Sampling(top_k=3), torch.tensor([[-3.0, -1.0, -2.0, -2.0, -9.0, -2.0]])) == [1, 2, 3]


@pytest.mark.parametrize(("p", "left"), [(1.0, 5), (0.01, 1), (0.39, 1), (0.41, 2), (0.69, 2), (0.71, 3), (0.99, 5)])
def test_top_p_keeps_the_smallest_set_that_holds_p(p, left):
    assert len(kept(Sampling(top_p=p))) == left


def by_definition(row: np.ndarray, k: int, p: float) -> list[int]:
    """All tokens in order, likeliest first: at most k of them, and of those the fewest that hold p."""
    order = sorted(range(len(row)), key=lambda i: (-row[i], i))[: k or None]
    chances = np.exp(row[order])
    before = np.concatenate([[0], np.cumsum(chances / chances.sum())[:-1]])
    return sorted(i for i, b in zip(order, before) if b < p)


@pytest.mark.parametrize("k", [0, 1, 40, 700])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.999, 1.0])
def test_in_a_large_vocabulary_the_same_are_kept_as_by_definition(k, p):
    if k == 0 and p == 1.0:
        assert len(kept(Sampling(), WIDE)) == 5000
        return
    ids, scores = Sampling(top_k=k, top_p=p).candidates(WIDE.double())
    for row, chosen, there in zip(WIDE.double().numpy(), ids, scores):
        assert chosen[np.isfinite(there)].tolist() == by_definition(row, k, p)
    tied = WIDE.mul(2).round()[:1] / 2  # many of each score
    tied = tied.double().log_softmax(-1)
    assert kept(Sampling(top_k=k, top_p=p), tied) == by_definition(tied[0].numpy(), k, p)


def test_temperature_divides_the_logarithms():
    _, scores = Sampling(temperature=0.5).candidates(LOGS)
    assert (np.exp(scores[0]) / np.exp(scores[0]).sum()).tolist() == pytest.approx((P**2 / (P**2).sum()).tolist())


def test_repetition_penalty_pushes_down_what_was_said():
    _, scores = Sampling(repetition_penalty=2.0).candidates(LOGS, [[0, 0, 3]])
    wanted = np.log(P) * np.array([2, 1, 1, 2, 1])
    assert scores[0].tolist() == pytest.approx(wanted.tolist())


@pytest.mark.parametrize("how", [{}, {"top_k": 3}, {"top_p": 0.8}, {"temperature": 0.0}, {"repetition_penalty": 2.0}])
def test_a_token_may_be_forbidden_and_nothing_given_is_changed(how):
    before = LOGS.clone()
    draws = [chance(0, i) for i in range(200)]
    chosen = Sampling(**how).choose(LOGS.expand(200, -1), draws, [[]] * 200, without=0)
    assert 0 not in chosen
    assert torch.equal(LOGS, before)


def test_tokens_come_as_often_as_their_probability():
    draws = [chance(0, i) for i in range(20_000)]
    chosen = Sampling().choose(LOGS.double().expand(20_000, -1), draws)
    assert chisquare(np.bincount(chosen, minlength=5), P * 20_000).pvalue > 0.001
    assert Sampling(temperature=0.0).choose(LOGS, [chance(0)]).tolist() == [0]


@pytest.mark.parametrize(("how", "left"), [({"top_k": 3}, 3), ({"top_p": 0.9}, 4), ({"top_k": 4, "top_p": 0.8}, 3)])
def test_so_they_do_among_those_that_are_left(how, left):
    chosen = Sampling(**how).choose(LOGS.expand(20_000, -1), [chance(2, i) for i in range(20_000)])
    expected = P[:left] / P[:left].sum() * 20_000
    assert chisquare(np.bincount(chosen, minlength=left), expected).pvalue > 0.001


def test_a_seed_chooses_the_same_alone_and_in_a_batch():
    for how in (Sampling(), Sampling(top_k=40), Sampling(top_p=0.9), Sampling(temperature=0.7)):
        together = how.choose(WIDE, [chance(7, i) for i in range(3)])
        assert [int(how.choose(WIDE[i : i + 1], [chance(7, i)])[0]) for i in range(3)] == together.tolist()


def test_what_is_impossible_is_never_chosen():
    logs = torch.log(torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]], dtype=torch.float64)).expand(5000, -1)
    for how in (Sampling(), Sampling(top_k=4), Sampling(top_p=0.99)):
        chosen = how.choose(logs, [chance(1, i) for i in range(5000)])
        assert set(chosen.tolist()) == {1, 3}


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": -1},
        {"temperature": -0.1},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"repetition_penalty": 0.0},
    ],
)
def test_settings_out_of_range_are_faults(wrong):
    with pytest.raises(Fault, match=f"{next(iter(wrong))} must be"):
        Sampling(**wrong)
