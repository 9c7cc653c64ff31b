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
NOBODY = [np.zeros(0, np.int64)]


def kept(how, log_probs=LOGS, said=NOBODY):
    return torch.isfinite(how.scores(log_probs, said))[0].nonzero().flatten().tolist()


@pytest.mark.parametrize(("k", "left"), [(0, 5), (1, 1), (3, 3), (5, 5), (99, 5)])
def test_top_k_keeps_k(k, left):
    assert kept(Sampling(top_k=k)) == list(range(left))


def test_top_k_keeps_k_of_equals():
    assert kept(Sampling(top_k=2), torch.full((1, 6), -math.log(6))) == [0, 1]


@pytest.mark.parametrize(("p", "left"), [(1.0, 5), (0.01, 1), (0.39, 1), (0.41, 2), (0.69, 2), (0.71, 3), (0.99, 5)])
def test_top_p_keeps_the_smallest_set_that_holds_p(p, left):
    assert len(kept(Sampling(top_p=p))) == left


def test_temperature_divides_the_logarithms():
    scores = Sampling(temperature=0.5).scores(LOGS, NOBODY)
    assert scores.softmax(-1)[0].tolist() == pytest.approx((P**2 / (P**2).sum()).tolist())


def test_repetition_penalty_pushes_down_what_was_said():
    scores = Sampling(repetition_penalty=2.0).scores(LOGS, [np.array([0, 0, 3])])[0]
    wanted = np.log(P) * np.array([2, 1, 1, 2, 1])
    assert scores.tolist() == pytest.approx(wanted.tolist())


def test_tokens_come_as_often_as_their_probability():
    draws = [chance(0, i) for i in range(20_000)]
    chosen = Sampling().choose(LOGS.double().expand(20_000, -1), draws)
    assert chisquare(np.bincount(chosen, minlength=5), P * 20_000).pvalue > 0.001
    assert Sampling(temperature=0.0).choose(LOGS, [chance(0)]).tolist() == [0]


def test_what_is_impossible_is_never_chosen():
    logs = torch.log(torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]], dtype=torch.float64)).expand(5000, -1)
    chosen = Sampling().choose(logs, [chance(1, i) for i in range(5000)])
    assert set(chosen.tolist()) == {1, 3}


@pytest.mark.parametrize("wrong", [{"max_tokens": -1}, {"temperature": -0.1}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.1},
                                   {"repetition_penalty": 0.0}])
def test_settings_out_of_range_are_faults(wrong):
    with pytest.raises(Fault, match=f"{next(iter(wrong))} must be"):
        Sampling(**wrong)
