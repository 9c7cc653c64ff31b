"""BERT's pairs on real text: half of them follow, none of the others share a document, and nothing is used twice."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.batches.sentence_pairs import SentencePairs, stretches, truncate
from tests.numbered import Numbered
from tests.rows import paired

LENGTH = 40


@pytest.fixture(scope="module")
def pairs(store):
    return paired(SentencePairs(length=LENGTH)).over(store("wordpiece"), 16, seed=2)


def epoch_of(cutter, epoch=0, batch=16):
    first, stop = epoch * cutter.count, (epoch + 1) * cutter.count
    rows = [row for step in range(first // batch, -(-stop // batch)) for row in cutter.rows(step, 0, batch)]
    return [row for row in rows if first <= row.number < stop]


def test_half_of_the_pairs_follow(pairs):
    rows = [row for epoch in range(12) for row in epoch_of(pairs, epoch)]
    assert len(rows) > 8000
    assert np.mean([row.follows for row in rows]) == pytest.approx(0.5, abs=0.02)


def test_pairs_fit_and_have_two_texts(pairs):
    for row in epoch_of(pairs):
        assert len(row.ids) >= 1
        assert len(row.second) >= 1
        assert len(row.ids) + len(row.second) + 3 <= LENGTH


@pytest.mark.parametrize("epoch", [0, 1, 3])
@pytest.mark.parametrize("batch", [16, 7, 400])
def test_where_texts_come_from(epoch, batch):
    """On a store whose tokens are their places: followers are adjacent, strangers are from another document."""
    ends = list(range(97, 4000, 97))
    store = Numbered(ends[-1], ends)
    cutter = paired(SentencePairs(length=33, short=0.3)).over(store, batch, seed=5)
    used = Counter()
    rows = epoch_of(cutter, epoch, batch)
    assert len(rows) == cutter.count
    for row in rows:
        first, second = np.searchsorted(ends, row.ids, side="right"), np.searchsorted(ends, row.second, side="right")
        assert len(set(first)) == len(set(second)) == 1
        assert (np.diff(row.ids) == 1).all()
        assert (np.diff(row.second) == 1).all()
        if row.follows:
            # adjacent, but for what truncation took from the two ends that meet
            assert first[0] == second[0]
            assert row.second[0] > row.ids[-1]
            if len(row.ids) + len(row.second) < 30:
                assert row.second[0] == row.ids[-1] + 1
        else:
            assert first[0] != second[0]
        used.update(row.ids.tolist() + row.second.tolist())
    assert max(used.values()) == 1, "text used twice in one epoch"
    text = set(range(ends[-1])) - {end - 1 for end in ends}
    assert set(used) <= text, "the [end] of a document is not text"
    # what an exchange makes too long is cut off, as in Google's script: little of it
    assert len(used) > 0.85 * len(text)


def test_all_text_is_in_some_stretch():
    ends = [1, 3, 50, 51, 160, 162]
    store = Numbered(162, ends)
    for short in (0.0, 0.5, 1.0):
        starts, stops, owners = stretches(store, 30, short, seed=0)
        covered = Counter(i for start, stop in zip(starts, stops) for i in range(start, stop))
        text = {i for i in range(162) if i + 1 not in ends}
        single = {1, 160}  # documents of one token cannot be parted
        assert set(covered.values()) == {1}
        assert set(covered) == text - single
        assert (stops - starts <= 31).all()
        assert all(
            start >= ([0] + ends)[owner] and stop < ends[owner] for start, stop, owner in zip(starts, stops, owners)
        )


def test_stretches_end_where_sentences_end():
    starts, stops, _ = stretches(Numbered(1001, [1001]), 30, 0.0, seed=0)
    assert all(stop % 5 == 0 for stop in stops[:-1])


def test_truncation_takes_from_the_longer_text():
    draw = np.random.default_rng(0)
    first, second = truncate(np.arange(50), np.arange(5), 20, draw)
    assert (len(first), len(second)) == (15, 5)
    assert 0 < first[0] < 35, "both ends give"
    first, second = truncate(np.arange(50), np.arange(50), 21, draw)
    assert sorted((len(first), len(second))) == [10, 11]


def test_one_document_is_not_enough():
    with pytest.raises(Fault, match="fewer than two documents"):
        paired(SentencePairs(length=20)).over(Numbered(500), 4, 0)


def test_a_store_without_marks_is_told_how_to_get_them():
    store = Numbered(500)
    store.marks = ()
    with pytest.raises(Fault, match="does not know where sentences end"):
        paired(SentencePairs(length=20)).over(store, 4, 0)
