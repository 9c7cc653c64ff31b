"""RoBERTa's input formats, and rows that come again: what the paper's section 4 says of each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from foreword.batches.cuts import Documents, Windows
from foreword.batches.full_sentences import DocSentences, FullSentences
from foreword.batches.sentence_pairs import SentencePairs
from foreword.batches.stream import Stream
from foreword.objectives.base import NOTHING
from foreword.objectives.masked import Masked
from tests.numbered import Numbered
from tests.rows import causal, paired

ENDS = [3, 40, 41, 97, 230, 231, 400, 1000]


class Closed(Numbered):
    """Tokens are their places, and the last of a document is its [end]."""

    def __init__(self, ends=ENDS):
        super().__init__(ends[-1], ends)

    def read(self, start, stop):
        ids = super().read(start, stop)
        return np.where(np.isin(ids + 1, self.ends), self.special("[end]"), ids)


def epoch_of(cutter, size=8):
    rows = [row for step in range(4 * int(cutter.epoch) + 40) for row in cutter.rows(step, 0, size)]
    return [row for row in rows if row.number < cutter.count]


def text(store):
    return [i for i in range(store.tokens) if i + 1 not in store.ends]


def test_full_sentences_are_the_text_once_separators_are_removed():
    store = Closed()
    rows = epoch_of(paired(FullSentences(length=33)).over(store, 8, 0))
    ordered = sorted((row.ids for row in rows if len(row.ids)), key=lambda ids: ids[0])
    assert [i for ids in ordered for i in ids if i >= 0] == text(store)
    assert max(map(len, ordered)) <= 30
    assert all(ids[0] >= 0 and ids[-1] >= 0 for ids in ordered), "a border at the end of a row separates nothing"
    crossing = [ids for ids in ordered if (ids < 0).any()]
    assert crossing, "rows cross documents, with a separator where they do"
    ends = {int(ids[-1]) + 1 for ids in ordered}
    assert all(end % 5 == 0 or end + 1 in store.ends for end in ends), "rows end where sentences end"


def test_doc_sentences_never_hold_two_documents():
    store = Closed()
    rows = epoch_of(paired(DocSentences(length=33)).over(store, 8, 0))
    assert sorted(i for row in rows for i in row.ids.tolist()) == text(store)
    for row in rows:
        assert len(set(np.searchsorted(store.ends, row.ids, side="right"))) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("cut", [DocSentences(length=259), SentencePairs(length=259, of="sentences")])
def test_a_batch_of_short_rows_has_more_of_them(cut):
    """As many tokens as a batch of full rows, within 5%, though the number of rows differs."""
    draw = np.random.default_rng(0)
    ends = np.cumsum(draw.integers(20, 900, 900)).tolist()
    cutter = paired(cut).over(Closed(ends), 32, 0)
    sizes, counts = [], []
    for step in range(36):
        rows = cutter.rows(step, 0, 32)
        sizes.append(sum(len(row.ids) + (0 if row.second is None else len(row.second)) for row in rows))
        counts.append(len(rows))
    assert np.abs(np.asarray(sizes) / (32 * 256) - 1).max() < 0.05
    assert len(set(counts)) > 1
    assert min(counts) >= 31


def test_a_place_of_a_filled_batch_is_the_same_however_it_is_asked_for():
    store = Closed()

    def numbers(rows):
        return [row.number for row in rows]

    cutter = paired(DocSentences(length=33)).over(store, 4, 0)
    whole = [number for step in range(96) for number in numbers(cutter.rows(step, 0, 4))]
    assert numbers(cutter.rows(0, 0, 384)) == whole
    ranks = [Stream(cutter, numbers, 4, rank, 2) for rank in range(2)]
    assert [number for step in range(96) for rank in ranks for number in rank.batch(step)] == whole
    assert sorted(whole) == list(range(len(whole)))


def test_a_pair_of_sentences_is_two_sentences():
    ends = list(range(43, 2000, 43))
    store = Closed(ends)
    rows = epoch_of(paired(SentencePairs(length=33, of="sentences")).over(store, 8, 1))
    used = Counter()
    for row in rows:
        for one in (row.ids, row.second):
            ended = int(one[-1]) % 5 == 4 or int(one[-1]) + 2 in ends
            assert ended
            assert not (one[:-1] % 5 == 4).any()
            used.update(one.tolist())
        owners = [int(np.searchsorted(ends, one[0], side="right")) for one in (row.ids, row.second)]
        assert row.follows == (owners[0] == owners[1])
        assert not row.follows or row.second[0] == row.ids[-1] + 1
    assert np.mean([row.follows for row in rows]) == pytest.approx(0.5, abs=0.1)
    assert set(used) == set(text(store))


# ------------------------------------------------------------------------------------------------- masks that come again


def masks(cut, store, tokenizer, epochs):
    """For the text of each row: the masks under which it was shown, epoch by epoch."""
    cutter = cut.over(store, 8, 0)
    found = {}
    objective = Masked()
    for number in range(int(epochs * cutter.count)):
        row = cutter.rows(0, number, number + 1)[0]
        batch = objective.collate([row], tokenizer)
        key = tuple(row.ids.tolist())
        found.setdefault(key, []).append(tuple((batch.targets["tokens"][0] != NOTHING).tolist()))
    return found


def cut_of(**settings):
    return paired(FullSentences(length=200, **settings))


@pytest.fixture
def little(store):
    """A store of real text, of which only the first sentences are read."""
    whole = store("wordpiece")

    class Few:
        folder, split, marks, tokenizer, read, read_mark = (
            whole.folder, "train", whole.marks, whole.tokenizer, whole.read, whole.read_mark,
        )  # fmt: skip
        ends, tokens = whole.ends[:2], int(whole.ends[1])

    return Few()


def test_new_masks_every_epoch_or_ten_or_one(little):
    tokenizer = little.tokenizer
    for seen in masks(cut_of(), little, tokenizer, 10).values():
        assert len(set(seen)) == 10
    for seen in masks(cut_of(copies=10), little, tokenizer, 40).values():
        assert len(set(seen)) == 10
        assert set(Counter(seen).values()) == {4}
    for seen in masks(cut_of(copies=1), little, tokenizer, 5).values():
        assert len(seen) == 5
        assert len(set(seen)) == 1


@pytest.mark.thorough
def test_every_place_is_hidden_as_often_as_the_rate_says(little):
    seen = next(iter(masks(cut_of(), little, little.tokenizer, 2000).values()))
    share = np.mean(seen, 0)[1:-1]
    assert len(seen) == 2000
    assert np.abs(share - 0.15).max() < 0.04  # five standard deviations of one place
    assert share.mean() == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize(
    "cut", [Windows(length=20), Documents(length=20), SentencePairs(length=23), DocSentences(length=23)]
)
def test_what_comes_again_is_a_row_of_the_first_epochs_in_another_order(cut):
    store = Closed()
    plain, again = (
        (paired if cut.texts == 2 else causal)(cut.model_copy(update={"copies": copies})).over(store, 4, 0)
        for copies in (0, 2)
    )

    def content(row):
        return row.number, row.ids.tolist(), None if row.second is None else row.second.tolist(), row.follows

    count = plain.count
    first = [content(row) for row in plain.rows(0, 0, 3 * count)]
    seen = [content(row) for row in again.rows(0, 0, 5 * count)]
    if not cut.fills:  # their batches are cut where they are full, not after so many rows
        assert seen[: 2 * count] == first[: 2 * count]
        for epoch in (2, 3, 4):
            here = seen[epoch * count : (epoch + 1) * count]
            version = first[(epoch % 2) * count : (epoch % 2 + 1) * count]
            assert sorted(map(str, here)) == sorted(map(str, version))
            assert here != version
    assert max(row[0] for row in seen) < 2 * count


def test_the_same_masks_on_one_rank_and_on_two(little):
    cutter = cut_of(copies=3).over(little, 8, 0)
    collate = lambda rows: [Masked().collate([row], little.tokenizer).targets["tokens"].tolist() for row in rows]  # noqa: E731
    one, two = Stream(cutter, collate, 8), [Stream(cutter, collate, 8, rank, 2) for rank in range(2)]
    for step in (0, 5, 40):
        assert one.batch(step) == [row for rank in two for row in rank.batch(step)]
