"""Counting in pieces, on disk, by several threads: the numbers of counting everything at once, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.basics.columns import PER_TOKEN, Scratch
from foreword.basics.messages import RunFailed
from foreword.basics.seeds import chance
from foreword.counts.shards import count_text
from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import JelinekMercer, Katz, WittenBell
from foreword.counts.trie import count_ngrams
from foreword.tokens.vocabulary import Vocabulary

SPECS = [
    SmoothedNGram(order=1),
    SmoothedNGram(order=5),
    SmoothedNGram(order=3, smoothing=Katz(), prune=[0, 0, 1]),
    SmoothedNGram(order=3, smoothing=WittenBell(), entropy=1e-4),
    SmoothedNGram(order=4, smoothing=JelinekMercer()),
]


def scratch(block: int, workers: int = 2) -> Scratch:
    return Scratch(PER_TOKEN * workers * block, workers)


@given(
    block=st.integers(1, 8) | st.integers(9, 400),
    order=st.integers(1, 6),
    end=st.sampled_from([4, 5]),
    workers=st.integers(1, 3),
)
@settings(max_examples=20, deadline=None)
def test_counting_in_shards_gives_the_counts_of_the_whole(block, order, end, workers):
    ids = chance(block, order).integers(0, 5, 40 if block < 9 else 300)
    begins, base = end, 6  # with end 5 there is no end symbol: one long document
    single, whole = count_ngrams(ids, order, begins, base)
    column = scratch(block, workers).column(np.uint16).append(ids)
    again, shards = count_text(column, order, begins, base)
    np.testing.assert_array_equal(single, again)
    for one, other in zip(whole, shards, strict=True):
        for name in ("keys", "counts", "suffix"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name)[:], err_msg=name)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.smoothing.kind}-{spec.order}")
@pytest.mark.parametrize("block", [1, 40, 500])
def test_bounded_memory_changes_no_bit(spec, block, vocabulary, train, held_out):
    if block == 1:
        train = train[:40]
    models = []
    for bounded in (False, True):
        model = spec.build(vocabulary)
        if bounded:
            model.bounded(PER_TOKEN * 2 * block)
        for part in np.array_split(train, 5):
            model.count(part)
        model.estimate(held_out)
        models.append(model)
    whole, pieces = (model.arrays() for model in models)
    assert whole.keys() == pieces.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, pieces[name], err_msg=name)
    text = np.append(vocabulary.end, held_out)
    np.testing.assert_array_equal(*(model.score([text], [1])[0] for model in models))


def test_a_bounded_run_leaves_nothing_on_disk(tmp_path, monkeypatch, vocabulary, train):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model = SmoothedNGram(order=3).build(vocabulary)
    model.bounded(20_000)
    model.count(train)
    model.estimate(None)
    assert any(tmp_path.rglob("*"))
    saved = {name: np.array(array) for name, array in model.arrays().items()}
    del model
    assert not list(tmp_path.rglob("*"))
    again = SmoothedNGram(order=3).build(vocabulary)
    again.restore(saved)
    assert np.isfinite(again.score([train], [1])[0]).all()


def test_many_short_columns_are_not_all_kept_in_memory():
    place = Scratch(16_000)
    columns = [place.column(np.int64).append(np.arange(10)) for _ in range(100)]
    in_memory = sum(part.nbytes for column in columns for part in column.parts)
    assert 0 < in_memory == place.held <= place.limit
    assert all((column[:] == np.arange(10)).all() for column in columns)
    for column in columns:
        column.clear()
    assert place.held == 0


def test_a_full_disk_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = Scratch(1000)
    column = place.column(np.int64).append(np.zeros(10, np.int64))
    column.path = tmp_path / "gone" / "away" / "0"
    with pytest.raises(RunFailed, match="more room for its sorted runs"):
        column.append(np.zeros(100, np.int64))


def test_what_was_counted_in_bounded_memory_can_be_saved_and_taken_up_again():
    vocabulary, ids = Vocabulary(size=5, end=4, silent=()), chance(3).integers(0, 5, 500)
    whole, first, second = (SmoothedNGram(order=3).build(vocabulary) for _ in range(3))
    whole.count(ids)
    for model in (first, second):
        model.bounded(2000)
    first.count(ids[:200])
    second.recount({name: np.array(array) for name, array in first.counted().items()})
    second.count(ids[200:])
    for model in (whole, second):
        model.estimate(None)
    np.testing.assert_array_equal(whole.score([ids], [1])[0], second.score([ids], [1])[0])
