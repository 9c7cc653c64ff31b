"""Every row is a pure function of its number, and an epoch is the text, once."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.batches import CUTS
from foreword.batches.cuts import Documents, Lanes, Runs, Windows
from foreword.batches.reordering import Reordering
from foreword.batches.sentences import Distance
from foreword.batches.stream import Stream
from tests.numbered import Numbered
from tests.rows import causal


def rows_of_epoch(cutter, batch_size: int, count: int, epoch: int = 0) -> list:
    """The rows number epoch * count to (epoch + 1) * count of a run."""
    first, stop = epoch * count, (epoch + 1) * count
    found = []
    for step in range(first // batch_size, -(-stop // batch_size)):
        found += cutter.rows(step, 0, batch_size)
    return [row for row in found if first <= row.number < stop]


@pytest.mark.parametrize(
    ("tokens", "length", "batch"), [(101, 10, 4), (100, 10, 3), (57, 7, 8), (9, 8, 1), (1000, 1, 16)]
)
@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_windows_cover_the_ring_once_per_epoch(tokens, length, batch, epoch):
    cutter = causal(Windows(length=length)).over(Numbered(tokens), batch, seed=3)
    assert cutter.epoch * batch == cutter.count == (tokens - 1) // length
    targets = Counter()
    for row in rows_of_epoch(cutter, batch, cutter.count, epoch):
        assert len(row.ids) == length + 1
        assert np.array_equal((row.ids[:-1] + 1) % tokens, row.ids[1:])  # a stretch of the ring
        targets.update(row.ids[1:].tolist())
    assert set(targets.values()) == {1}
    assert len(targets) == cutter.count * length > tokens - 1 - length


def test_windows_fall_elsewhere_in_the_next_epoch():
    cutter = causal(Windows(length=10)).over(Numbered(1001), 4, seed=0)
    starts = [{int(row.ids[0]) % 10 for row in rows_of_epoch(cutter, 4, 100, epoch)} for epoch in range(4)]
    assert len(set(map(frozenset, starts))) > 1
    orders = [[int(row.ids[0]) for row in rows_of_epoch(cutter, 4, 100, epoch)] for epoch in range(2)]
    assert orders[0] != sorted(orders[0])


def test_lanes_ask_for_every_target_once_and_carry_on():
    store, length, batch = Numbered(1000), 9, 7
    cutter = causal(Lanes(length=length)).over(store, batch, seed=0)
    targets, last = Counter(), [None] * batch
    for step in range(int(cutter.epoch)):
        for lane, row in enumerate(cutter.rows(step, 0, batch)):
            assert row.continues == (step > 0)
            if step:
                assert row.ids[0] == last[lane], "a lane goes on where it was"
            last[lane] = row.ids[-1]
            targets.update(row.ids[1:].tolist())
    assert set(targets.values()) == {1}
    assert len(targets) == int(cutter.epoch) * length * batch > 999 - batch * (length + 1)
    again = cutter.rows(int(cutter.epoch), 0, batch)
    assert [row.ids[0] for row in again] == [row.ids[0] for row in cutter.rows(0, 0, batch)]
    assert not again[0].continues
    assert again[0].number != cutter.rows(0, 0, batch)[0].number


def test_lanes_need_no_more_text_than_they_read():
    assert len(causal(Lanes(length=9)).over(Numbered(64), 7, 0).rows(0, 0, 7)) == 7
    with pytest.raises(Fault, match="too few for 7 lanes of 9 tokens"):
        causal(Lanes(length=9)).over(Numbered(63), 7, 0)


def test_runs_are_the_text_in_order():
    cutter = causal(Runs(length=30)).over(Numbered(100), 1, seed=0)
    ids = np.concatenate([cutter.rows(step, 0, 1)[0].ids for step in range(4)])
    assert np.array_equal(ids, np.arange(100))
    assert cutter.epoch == 4
    assert [cutter.rows(step, 0, 1)[0].continues for step in range(5)] == [False, True, True, True, False]


def test_documents_are_cut_but_never_across():
    ends = [5, 6, 30, 41, 60]
    store = Numbered(60, ends)
    cutter = causal(Documents(length=8)).over(store, 3, seed=1)
    for epoch in (0, 2):
        targets = Counter()
        for row in rows_of_epoch(cutter, 3, cutter.count, epoch):
            assert 2 <= len(row.ids) <= 9
            owners = {int(np.searchsorted(ends, i, side="right")) for i in row.ids[1:]}
            assert len(owners) == 1
            start = ([0] + ends)[owners.pop()]
            assert row.ids[0] == row.ids[1] - 1 if row.ids[1] > 0 else row.ids[0] == -7  # what came before is context
            assert row.ids[1] >= start
            targets.update(row.ids[1:].tolist())
        assert targets == Counter(range(60))


PAIRS = Path(tempfile.mkdtemp()) / "pairs.tsv"
PAIRS.write_text("".join(f"{n}\t{n * n}\tclicked\n" for n in range(40)), encoding="utf-8")
SETTINGS = {  # of cuts that cannot do without
    "labelled_pairs": {"file": str(PAIRS), "unrelated": True},
    "text_tasks": {"names": ["order", "distance"], "tasks": [Reordering(), Distance()], "steps": [[3], [2, 4]]},
}


def over(kind: str, store, batch: int, seed: int = 0):
    return causal(CUTS.find(kind)(length=16, **SETTINGS.get(kind, {}))).over(store, batch, seed)


def seen(row) -> tuple:
    second = None if row.second is None else row.second.tolist()
    return row.number, row.ids.tolist(), second, row.follows, row.continues, row.chance.random()


every_cut = pytest.mark.parametrize("kind", CUTS.names())


class Talks(Numbered):
    """Sessions of ten turns, each of five tokens and its [end]."""

    marks = ("skipped",)

    def read(self, start: int, stop: int) -> np.ndarray:
        ids = super().read(start, stop)
        return np.where(ids % 6 == 5, self.special("[end]"), ids)

    def read_mark(self, name: str, start: int, stop: int) -> np.ndarray:
        return np.zeros(stop - start, bool)


def store_for(kind: str) -> Numbered:
    return (Talks if kind in ("sessions", "pairs") else Numbered)(3000, list(range(60, 3001, 60)))


@every_cut
def test_a_batch_does_not_depend_on_the_batches_before(kind):
    used = over(kind, store_for(kind), 6)
    for step in range(40):
        used.rows(step, 0, 6)
    for step in (0, 7, 31, 10_000_000):
        fresh = over(kind, store_for(kind), 6)
        assert list(map(seen, used.rows(step, 0, 6))) == list(map(seen, fresh.rows(step, 0, 6)))


@every_cut
@pytest.mark.parametrize("world", [1, 2, 3, 6])
def test_ranks_are_disjoint_and_together_the_batch(kind, world):
    """Also where a batch straddles two epochs: rows are asked for one by one, and all at once."""
    whole = over(kind, store_for(kind), 6)
    streams = [
        Stream(over(kind, store_for(kind), 6), lambda rows: list(map(seen, rows)), 6, rank, world)
        for rank in range(world)
    ]
    for step in range(90):
        ranks = [row for stream in streams for row in stream.batch(step)]
        assert ranks == list(map(seen, whole.rows(step, 0, 6))), f"step {step}"
        assert len({row[0] for row in ranks}) == len(ranks) >= 6 or CUTS.find(kind).fills is True


@every_cut
def test_another_seed_is_another_order(kind):
    if kind in ("lanes", "runs"):
        assert (
            list(map(seen, over(kind, store_for(kind), 6, 0).rows(0, 0, 6)))[0][1]
            == seen(over(kind, store_for(kind), 6, 1).rows(0, 0, 6)[0])[1]
        )
        return
    assert [row.ids.tolist() for row in over(kind, store_for(kind), 6, 0).rows(0, 0, 6)] != [
        row.ids.tolist() for row in over(kind, store_for(kind), 6, 1).rows(0, 0, 6)
    ]


@every_cut
def test_too_little_text_is_said_by_name(kind):
    if kind != "labelled_pairs":  # these come from a file
        with pytest.raises(Fault, match=r"numbered \(train\) has (1 tokens, too few|0 stretches of)"):
            over(kind, Numbered(1), 4)
    cut = CUTS.find(kind)
    with pytest.raises(Fault, match="batches.length is not known"):
        cut.model_construct(**{**dict(cut(**SETTINGS.get(kind, {}))), "length": None}).over(store_for(kind), 2, 0)
