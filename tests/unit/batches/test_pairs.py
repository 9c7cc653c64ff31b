"""Pairs of texts in batches of a number of tokens."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.batches.pairs import BatchPlan, turn_pairs
from foreword.batches.stream import Stream
from tests.tiny import tiny


def skewed(count: int = 3000) -> np.ndarray:
    """Many short pairs and a few long ones; [pairs, 2]"""
    draw = np.random.default_rng(0)
    source = np.clip(draw.lognormal(2.5, 0.6, count).astype(int), 2, 120)
    return np.stack([source, np.clip(source + draw.integers(-3, 4, count), 2, 120)], 1)


@pytest.mark.parametrize("tokens", [150, 1000])
def test_every_pair_comes_once_an_epoch_and_no_batch_is_over_the_budget(tokens):
    lengths = skewed()
    plan = BatchPlan(lengths, tokens, 8, seed=0)
    orders = []
    for epoch in (0, 1):
        first, seen = plan.before(epoch * plan.batches), []
        assert first == epoch * len(lengths)
        for step in range(epoch * plan.batches, (epoch + 1) * plan.batches):
            rows = [plan.place(number) for number in range(plan.before(step), plan.before(step) + plan.size(step))]
            assert (lengths[rows].max(0) * len(rows) <= tokens).all()
            seen += rows
        assert sorted(seen) == list(range(len(lengths)))
        orders.append(seen)
    assert orders[0] != orders[1]


def test_little_of_a_batch_is_padding():
    lengths = skewed()
    plan = BatchPlan(lengths, 1000, 8, seed=0)

    def padding(batches: list[list[int]]) -> float:
        places = sum(len(rows) * lengths[rows].max(0).sum() for rows in batches)
        return 1 - lengths.sum() / places

    ours = [
        [plan.place(number) for number in range(plan.before(step), plan.before(step) + plan.size(step))]
        for step in range(plan.batches)
    ]
    drawn = np.array_split(np.random.default_rng(1).permutation(len(lengths)), plan.batches)
    assert padding(ours) < 0.1
    assert padding([rows.tolist() for rows in drawn]) > 0.25, "the lengths hardly differ"


def test_a_row_is_a_turn_and_the_turn_that_answers_it(store):
    dialogues = store("dialogues")
    end = dialogues.tokenizer.special("[end]")
    pairs = turn_pairs(dialogues)
    assert len(pairs) == dialogues.documents * 5  # of six turns, all but the first answer
    ids = dialogues.document(1)
    turns = np.split(ids, np.flatnonzero(ids == end) + 1)
    start, middle, stop = pairs[5]
    assert dialogues.read(start, middle).tolist() == turns[0].tolist()
    assert dialogues.read(middle, stop)[-1] == end


def test_a_batch_depends_on_its_step_alone(store):
    recipe, dialogues = tiny("transformer"), store("dialogues")
    stream = [
        Stream(recipe.batches.over(dialogues, 8, 0), lambda rows: [row.number for row in rows], 8) for _ in range(2)
    ]
    later = [stream[0].batch(step) for step in range(60)]
    assert [stream[1].batch(step) for step in (59, 3, 31)] == [later[59], later[3], later[31]]
    assert sum(later, []) == list(range(len(sum(later, []))))
    assert len({len(batch) for batch in later}) > 1
