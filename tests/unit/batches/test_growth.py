"""Batches that grow: the line of the paper, by stairs, with the rows before any step known without counting."""

from __future__ import annotations

import math

import pytest

from foreword.batches import CUTS
from foreword.batches.cuts import Windows
from foreword.batches.stream import Growth, Stream
from foreword.training.schedules import Ramp
from tests.numbered import Numbered
from tests.rows import causal
from tests.unit.batches.test_cuts import over, seen, store_for

SHAPES = [(16, 256, 5000), (4, 32, 100), (1, 7, 3), (3, 50, 10_000), (8, 8, 50), (12, 18, 1), (2, 1000, 7)]


@pytest.mark.parametrize(("start", "full", "over"), SHAPES)
def test_sizes_follow_the_line_and_rows_add_up(start, full, over):
    """Against the definition, step by step: the largest stair that is not above the line at the rows read so far."""
    growth, rows, last = Growth(start, full, over), 0, 0
    stair = math.gcd(start, full)
    for step in range(2000):
        line = start + (full - start) * min(rows / over, 1)
        assert growth.before(step) == rows
        size = growth.size(step)
        assert size % stair == 0
        assert line - stair < size <= line + 1e-9
        assert size >= last
        rows, last = rows + size, size
    assert last == full
    assert growth.size(10**12) == full
    assert growth.before(10**12) == rows + (10**12 - 2000) * full


def test_gpt3_small_grows_as_published():
    """32k tokens to 0.5M over the first 4 billion (Brown et al. 2020, appendix B), at 5 points between.

    Fifteen stairs of 16 rows; on stair i a batch has 32k (i + 1) tokens, so a fifteenth of 4 billion takes so many steps.
    """
    context, over = 2048, 4e9
    growth = Ramp(start=16, over="4Gtok").growth(256, context)
    assert growth.size(0) * context == 32768
    for stair in (3, 6, 9, 12, 15):
        step = sum(over / 15 / (32768 * (i + 1)) for i in range(stair))
        assert growth.size(math.ceil(step) + stair) == growth.size(math.floor(step) - 1) + 16 == 16 * (stair + 1)
        assert growth.before(round(step)) * context == pytest.approx(stair / 15 * over, rel=1e-3)
    tokens = [growth.before(step) * context for step in range(0, 40_000, 100)]
    assert tokens == sorted(set(tokens))


def one_row_after_another(name: str) -> bool:
    return not (CUTS.find(name).carries or CUTS.find(name).whole_batches or name == "sessions")


@pytest.mark.parametrize("kind", filter(one_row_after_another, CUTS.names()))
def test_rows_are_one_endless_row_of_rows(kind):
    """What growing batches and mixtures count on: where a row falls among batches does not change it."""
    for step, first, stop in ((0, 2, 6), (7, 0, 6), (93, 3, 5)):
        assert list(map(seen, over(kind, store_for(kind), 6).rows(step, first, stop))) == list(
            map(seen, over(kind, store_for(kind), 6).rows(0, 6 * step + first, 6 * step + stop))
        )


def test_a_growing_stream_reads_the_same_rows_in_other_portions():
    growth = Growth(2, 8, 60)
    whole = causal(Windows(length=10)).over(Numbered(2001), 8, 0)
    stream = Stream(whole, list, 8, growth=growth)
    batches = [stream.batch(step) for step in range(30)]
    rows = [row for batch in batches for row in batch]
    assert [len(batch) for batch in batches[:2]] == [2, 2]
    assert len(batches[-1]) == 8
    assert [row.number for row in rows] == list(range(len(rows)))
    assert list(map(seen, rows[:144])) == list(map(seen, [row for step in range(18) for row in whole.rows(step, 0, 8)]))
    assert stream.rows(30) == len(rows)
    assert stream.epochs(30) == pytest.approx(len(rows) / 200)


@pytest.mark.parametrize("batch_size", [1, 3, 7, 32])
def test_epochs_of_even_batches_are_what_they_were(batch_size):
    stream = Stream(causal(Windows(length=7)).over(Numbered(1234), batch_size, 0), list, batch_size)
    for step in (0, 1, 13, 10**6 + 1):
        assert stream.epochs(step) == step / stream.cutter.epoch


def test_every_size_can_be_shared_or_none():
    growth = Growth(4, 12, 100)
    for world in (1, 2, 4):
        Stream(over("windows", store_for("windows"), 12), list, 12, 0, world, growth)
        assert all(size % world == 0 for _, _, size in growth.stairs)


def test_a_ramp_that_cannot_be():
    assert not Ramp(start=2, over="5Mtok").wrong()
    assert [where for where, _ in Ramp(start=9, over="500").wrong()] == ["ramp.over"]
    assert [where for where, _ in Ramp(start=0, over="much").wrong()] == ["ramp.over", "ramp.start"]


def test_a_batch_no_larger_than_the_start_does_not_grow():
    growth = Ramp(start=16, over="4Gtok").growth(8, 32)
    assert [(growth.size(step), growth.before(step)) for step in (0, 1, 10**9)] == [(8, 0), (8, 8), (8, 8 * 10**9)]
