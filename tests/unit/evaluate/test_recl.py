"""Relative effective context length, of models whose sight is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foreword.evaluate.recl import context_gains, effective_length, losses, report


class Copier:
    """Knows a token if the one 100 places before it can be seen; its sight ends at `context`."""

    def __init__(self, context: int | None = None):
        self.context = context
        self.asked: list[int] = []

    def score(self, sequences, starts):
        self.asked += [len(sequence) for sequence in sequences]
        sees = [len(sequence) > 100 and sequence[-1] == sequence[-101] for sequence in sequences]
        return [np.array([math.log(0.9) if seen else math.log(0.1)]) for seen in sees]


IDS = np.tile(np.random.default_rng(0).integers(0, 50, 100), 5)


def test_it_ends_where_a_step_more_is_no_gain():
    """Copied from 100 back: from 64 to 128 something is gained, from 32 to 64 and from 128 to 192 nothing."""
    far = context_gains({"far": Copier(), "near": Copier(32)}, IDS, 192, step=64)["far"]
    assert [one.gain > 0.01 for one in far] == [True, False]
    assert effective_length(far, step=64) == 128
    small = context_gains({"far": Copier(), "near": Copier(32)}, IDS, 192, step=32)["far"]
    assert effective_length(small, step=32) == 32, "a step without a gain ends it"


def test_a_gain_is_counted_from_the_best_of_the_group_without_the_step():
    gains = context_gains({"far": Copier(), "near": Copier(32)}, IDS, 160, step=80)
    wanted = (math.log(0.1) - math.log(0.9)) / math.log(0.1)
    assert gains["far"][0].context == 160
    assert gains["far"][0].gain == pytest.approx(wanted)
    assert effective_length(gains["far"], step=80) == 160
    assert effective_length(gains["near"], step=80) == 80


def test_every_token_has_exactly_its_context_before_it():
    model = Copier(40)
    assert len(losses(model, IDS, [150, 300], 32)) == 2
    losses(model, IDS, [150], 64)
    assert model.asked == [33, 33, 41]


def test_a_report_says_what_it_compares():
    made = report({"far": Copier(), "near": Copier(32)}, IDS, 160, 80)
    text = "\n".join(made.lines())
    assert "80 positions" in text
    assert "hardest 10%" in text
