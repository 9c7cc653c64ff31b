"""A mixture is read by its weights, in an order that nothing remembers, and what was read of each source is counted exactly."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.batches.cuts import Documents, Lanes, Runs, Windows
from foreword.batches.mixture import BLOCK, Mixture, MixtureSource, cutter_over
from foreword.batches.stream import Growth, Stream
from tests.numbered import Numbered
from tests.rows import causal

GPT3 = [0.60, 0.22, 0.08, 0.08, 0.03]  # Brown et al. 2020, table 2.2: they add up to 1.01
SIZES = [4100, 190, 120, 550, 30]  # hundred millions of tokens, there


def offset(tokens: int, source: int, ends: list[int] | None = None) -> Numbered:
    """A store whose ids tell where they are and, in millions, in which source."""
    store = Numbered(tokens, ends)
    real = store.read
    store.read = lambda start, stop: real(start, stop) + 1_000_000 * source
    return store


def mixture(weights=GPT3, tokens=SIZES, length: int = 8) -> Mixture:
    stores = [offset(length * rows + 1, source) for source, rows in enumerate(tokens)]
    return Mixture([f"s{i}" for i in range(len(weights))], weights, stores)


def cutter(batch_size: int = 32, seed: int = 0, **settings):
    return mixture(**settings).over(causal(Windows(length=8)), batch_size, seed)


def source_of(row) -> int:
    return int(row.ids[-1]) // 1_000_000


@pytest.mark.parametrize("weights", [GPT3, [1, 1], [3, 1, 1], [0.999, 0.001], [7.0]])
def test_draws_follow_the_weights(weights):
    """100,000 draws within 4 sigma of independent ones: the specification's bound, and a far narrower one of our own."""
    draws = 100_000
    owners = cutter(weights=weights, tokens=[50] * len(weights)).owners(0, draws)
    for source, weight in enumerate(weights):
        share = weight / sum(weights)
        off = abs(int((owners == source).sum()) - draws * share)
        assert off <= 4 * math.sqrt(draws * share * (1 - share)) + 1e-9
        # whole blocks are right to within one row for each source; in the part of a block at the end chance is left
        assert off <= len(weights) + 4 * math.sqrt(BLOCK * share * (1 - share))


def test_whole_blocks_have_their_share_however_far():
    mixed = cutter()
    for blocks in (1, 10, 1000, 10**9, 10**13):
        for weight, count in zip(GPT3, mixed._whole(blocks)):
            assert abs(count - blocks * BLOCK * weight / sum(GPT3)) <= len(GPT3) + blocks * BLOCK * 1e-11
        assert sum(mixed._whole(blocks)) == blocks * BLOCK


def test_draws_have_no_rhythm():
    """Every row of a batch sees every source as often as the weights say: none is tied to a place in the batch."""
    owners = cutter(weights=[1, 1], tokens=[50, 50]).owners(0, 64 * 1024)
    for batch_size in (2, 32, 64, 1000, 1024):
        whole = owners[: len(owners) // batch_size * batch_size].reshape(-1, batch_size)
        sigma = 0.5 / math.sqrt(len(whole))
        assert (np.abs((whole == 0).mean(0) - 0.5) < 5 * sigma).all(), batch_size
    runs = int((owners[1:] != owners[:-1]).sum())
    assert abs(runs / len(owners) - 0.5) < 0.02, "neighbours are drawn, not alternating"


def test_what_was_drawn_is_counted_exactly():
    mixed = cutter(batch_size=7)
    counted, rows_before = Counter(), 0
    for step in range(400):
        assert mixed.drawn(rows_before) == [counted[source] for source in range(5)], step
        counted.update(source_of(row) for row in mixed.rows(step, 0, 7))
        rows_before += 7
    assert mixed.epochs(rows_before) == [counted[source] / rows for source, rows in enumerate(SIZES)]
    assert mixed.epoch == sum(SIZES) / 7


def test_every_source_is_read_whole_epoch_by_epoch():
    """Source 4 has 30 rows: each comes k times before any comes k + 1 times, wherever batches end."""
    mixed = cutter(batch_size=50)
    seen = [row for step in range(200) for row in mixed.rows(step, 0, 50) if source_of(row) == 4]
    assert len(seen) > 8 * 30
    for epoch in range(8):
        targets = Counter(int(i) for row in seen[epoch * 30 : (epoch + 1) * 30] for i in row.ids[1:])
        assert len(targets) == 240
        assert set(targets.values()) == {1}


def told(row) -> tuple:
    return row.number, row.seed, row.ids.tolist(), row.chance.random()


def test_a_batch_is_a_pure_function_of_its_step():
    used = cutter(batch_size=6)
    for step in range(60):
        used.rows(step, 0, 6)
    for step in (0, 7, 170, 171, 10_000_000):
        fresh = cutter(batch_size=6).rows(step, 0, 6)
        assert list(map(told, fresh)) == list(map(told, used.rows(step, 0, 6)))
        assert [row.number for row in fresh] == list(range(6 * step, 6 * step + 6))
    assert [source_of(r) for r in cutter(seed=1).rows(0, 0, 32)] != [
        source_of(r) for r in cutter(seed=0).rows(0, 0, 32)
    ]


@pytest.mark.parametrize("world", [1, 2, 3, 6])
@pytest.mark.parametrize("growth", [None, Growth(6, 18, 400)])
def test_ranks_together_are_the_batch(world, growth):
    def batches(rank, world, step):
        return Stream(cutter(batch_size=18), lambda rows: list(map(told, rows)), 18, rank, world, growth).batch(step)

    for step in (*range(40), 113):
        assert [row for rank in range(world) for row in batches(rank, world, step)] == batches(0, 1, step)


def test_rows_do_not_depend_on_the_size_of_batches():
    one = [told(row) for step in range(30) for row in cutter(batch_size=8).rows(step, 0, 8)]
    other = [told(row) for step in range(10) for row in cutter(batch_size=24).rows(step, 0, 24)]
    assert one == other


def test_weights_are_tokens_also_where_rows_differ_in_length():
    """Documents of 4 tokens and of 16: for equal tokens there must be four short ones for each long one."""
    short, long = offset(4000, 0, list(range(4, 4001, 4))), offset(4000, 1, list(range(16, 4001, 16)))
    mixed = Mixture(["short", "long"], [1, 1], [short, long]).over(causal(Documents(length=32)), 10, 0)
    rows = [row for step in range(500) for row in mixed.rows(step, 0, 10)]
    tokens = [sum(len(row.ids) - 1 for row in rows if source_of(row) == source) for source in (0, 1)]
    assert tokens[0] / sum(tokens) == pytest.approx(0.5, abs=0.01)


def test_a_single_store_is_cut_as_ever():
    store = Numbered(500)
    alone = cutter_over(store, causal(Windows(length=8)), 4, 3)
    assert list(map(told, alone.rows(5, 0, 4))) == list(
        map(told, causal(Windows(length=8)).over(store, 4, 3).rows(5, 0, 4))
    )


def test_what_cannot_be_mixed():
    with pytest.raises(Fault, match="'lanes' go on from batch to batch"):
        mixture().over(causal(Lanes(length=8)), 4, 0)
    assert len(mixture().over(causal(Runs(length=8)), 2, 0).rows(0, 0, 2)) == 2
    for weights in ([1, 0], [1, -1], [1, float("nan")], [1, float("inf")]):
        with pytest.raises(Fault, match="must be numbers above 0"):
            mixture(weights, [9, 9])


def test_stores_of_two_tokenizers_are_named(stores):
    sources = [MixtureSource(name, stores[name], 1.0) for name in ("byte_bpe", "wordpiece")]
    with pytest.raises(Fault, match="must share a tokenizer") as caught:
        Mixture.open(sources, "train")
    assert all(str(stores[name]) in str(caught.value) for name in ("byte_bpe", "wordpiece"))


def test_the_fingerprint_knows_content_and_weights():
    def data(weights, contents=("a", "b")):
        made = Mixture(
            "xy",
            weights,
            [SimpleNamespace(data=data, folder="f", split="train", tokens=1, documents=1) for data in contents],
        )
        return made.data

    assert data([1, 1]) == data([2, 2])
    assert len({data([1, 1]), data([1, 2]), data([1, 1], "ba"), data([1, 1], "ac")}) == 4


def test_the_mean_is_by_shares_and_leaves_out_what_was_not_measured():
    mixed = mixture([3, 1], [9, 9])
    assert mixed.mean({"s0": {"nll": 1.0}, "s1": {"nll": 5.0}}) == {"nll": 2.0}
    assert mixed.mean({"s0": {}, "s1": {"nll": 5.0}}) == {"nll": 5.0}
    assert mixed.mean({"s0": {}, "s1": {}}) == {}
