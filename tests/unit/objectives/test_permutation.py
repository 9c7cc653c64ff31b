"""Orders, guesses and lanes of XLNet: who may see whom in a batch, which tokens are chosen, and what goes on from row to row."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.objectives.base import NOTHING
from foreword.objectives.permutation import PermutationObjective
from foreword.objectives.spans_in_context import SpansInContext
from tests.tiny import drawn, tiny

LENGTH, REUSE = 48, 20
SIZES = (f"batches.length={LENGTH}", f"batches.reuse={REUSE}", "network.memory=30")


@pytest.fixture
def batches(store_of):
    def made(*more, steps=1, size=6):
        recipe = tiny("xlnet", *SIZES, *more)
        store = store_of(recipe)
        cutter = recipe.batches.over(store, size, 0)
        rows = [cutter.rows(step, 0, size) for step in range(steps)]
        return recipe, store, rows, [recipe.objective.collate(some, store.tokenizer) for some in rows]

    return made


def text_of(row, store):
    return row.ids[::-1] if row.backward else row.ids


def test_rows_are_two_texts_with_specials_behind_and_exactly_one_in_six_is_guessed(batches):
    recipe, store, rows, made = batches(steps=4)
    close, last = (store.tokenizer.special(name) for name in ("[separator]", "[cls]"))
    for some, batch in zip(rows, made):
        assert batch.inputs.ids.shape == (6, LENGTH)
        assert batch.targets["tokens"].shape == (6, LENGTH // 6)
        for row, ids, segments, queries, target in zip(
            some, batch.inputs.ids, batch.inputs.segments, batch.inputs.queries, batch.targets["tokens"]
        ):
            assert ids.tolist() == [*row.ids, close, *row.second, close, last]
            assert segments.tolist() == [0] * (len(row.ids) + 1) + [1] * (len(row.second) + 1) + [2]
            assert torch.equal(ids[queries], target)
            assert len(set(queries.tolist())) == LENGTH // 6
            assert not {close, last} & set(target.tolist())


def test_what_is_not_guessed_is_seen_by_all_but_what_is_remembered_sees_nothing_behind_it(batches):
    _, _, _, (batch,) = batches()
    order = batch.inputs.order
    visible = order[:, None] <= order[:, :, None]  # as the network reads it, itself aside
    guessed = torch.zeros_like(order, dtype=torch.bool).scatter(1, batch.inputs.queries, True)
    for table, chosen, ranks in zip(visible, guessed, order):
        assert not table[:REUSE, REUSE:].any()
        assert table[REUSE:, :REUSE].all()
        assert table[REUSE:, REUSE:][:, ~chosen[REUSE:]].all()
        assert table[:REUSE, :REUSE][:, ~chosen[:REUSE]].all()
        for part in (slice(0, REUSE), slice(REUSE, LENGTH)):
            inside = ranks[part][chosen[part]]
            assert len(set(inside.tolist())) == len(inside) > 1
            places = torch.arange(LENGTH)[part][chosen[part]]
            assert torch.equal(table[places][:, places], inside[None] <= inside[:, None])
        assert not table[~chosen][:, chosen][REUSE:, REUSE:].any() or not chosen[REUSE:].any()


def test_no_position_changes_a_guess_that_comes_before_it(batches, store_of):
    """A whole batch through the network: one token changed reaches exactly the guesses that may see it."""
    recipe, store, _, (batch,) = batches(size=2)
    network = drawn(recipe, store.tokenizer, dtype=torch.float64).network
    inputs = batch.inputs
    visible = inputs.order[:, None] <= inputs.order[:, :, None]
    with torch.no_grad():
        before = network(inputs).last
        for place in (0, REUSE - 1, REUSE, LENGTH - 1, *inputs.queries[0].tolist()):
            ids = inputs.ids.clone()
            ids[:, place] = (ids[:, place] + 1) % 50 + 5
            after = network(type(inputs)(**{**vars(inputs), "ids": ids})).last
            changed = (after - before).abs().amax(2) > 1e-12
            for row, queries in enumerate(inputs.queries.tolist()):
                reached = [place != query and bool(visible[row, query, place]) for query in queries]
                assert changed[row].tolist() == reached, (row, place)


def test_lanes_go_on_where_what_is_remembered_ends_and_half_of_them_run_backward(batches):
    _, store, rows, made = batches(steps=3)
    whole = store.read(0, store.tokens)
    backward = [row.backward for row in rows[0]]
    assert backward == [False] * 3 + [True] * 3
    assert made[0].inputs.backward.tolist() == backward
    assert [batch.continues for batch in made] == [False, True, True]
    for lane in range(6):
        told = np.concatenate([some[lane].ids[:REUSE] for some in rows])
        said = told[::-1] if backward[lane] else told
        assert any(np.array_equal(whole[at : at + len(said)], said) for at in range(len(whole) - len(said) + 1))


def test_the_second_text_follows_or_is_of_another_document_and_then_does_not_recall(batches):
    _, store, rows, made = batches(steps=60)
    flat = [row for some in rows for row in some]
    assert 0.4 < np.mean([row.follows for row in flat]) < 0.6
    recalls = torch.cat([batch.inputs.recalls for batch in made])
    segments = torch.cat([batch.inputs.segments for batch in made])
    whole = store.read(0, store.tokens).tolist()
    text = ",".join(map(str, whole))
    for row, recall, segment in zip(flat, recalls, segments):
        assert torch.equal(recall, torch.ones_like(recall) if row.follows else segment != 1)
        both = np.concatenate([row.ids, row.second])
        both = both[::-1] if row.backward else both
        assert (",".join(map(str, both.tolist())) in text) == row.follows


def test_each_ablation_is_one_setting(batches):
    _, _, rows, (batch,) = batches("batches.reversed_half=false")
    assert batch.inputs.backward is None
    assert not any(row.backward for row in rows[0])
    recipe, _, _, _ = batches("objective.span=1")
    assert recipe.objective.marks == ()
    recipe, store, _, (batch,) = batches("objective.denoising=true")
    mask, hidden = store.tokenizer.special("[mask]"), batch.targets["tokens"] != NOTHING
    assert torch.equal(batch.inputs.ids == mask, hidden)
    assert hidden.sum(1).tolist() == [LENGTH // 6] * 6
    assert batch.inputs.queries is None
    order = batch.inputs.order
    assert len({tuple(row.tolist()) for row in order[:, :REUSE]}) == 1
    parts = 'objective={ kind = "together", parts = [{ kind = "permutation" }, { kind = "next_sentence", reading = "last" }] }'
    recipe, store, rows, (batch,) = batches(parts)
    assert batch.targets["next_sentence"].tolist() == [0 if row.follows else 1 for row in rows[0]]
    model = drawn(recipe, store.tokenizer)
    loss = recipe.objective.loss(model, batch)
    content = model.network(batch.inputs).content[:, -1]
    head = model.heads["next_sentence"]
    wanted = torch.nn.functional.cross_entropy(
        head.out(head.pool(content).tanh()), batch.targets["next_sentence"], reduction="sum"
    )
    assert float(loss.charges["next_sentence"].total.detach()) == pytest.approx(float(wanted.detach()), rel=1e-4)
    assert tiny("xlnet", "network.memory=0").network.memory == 0


def spans_of(unit: str, trials: int = 300):
    """(starts, spans but the last of each text, which what is left may have cut short)"""
    draw, found = chance(1), []
    for _ in range(trials):
        begins = draw.random(600) < 0.5
        spans = SpansInContext(unit=unit).spans(begins, np.ones(600, bool), 100, draw)
        found += [(begins, span) for span in spans[:-1]]
    return found


@pytest.mark.parametrize("unit", ["word", "token"])
def test_spans_have_one_to_five_units_with_harmonic_shares_and_begin_with_a_word(unit):
    found = spans_of(unit)
    sizes = []
    for begins, (start, stop) in found:
        assert begins[start]
        sizes.append(int(begins[start:stop].sum()) if unit == "word" else stop - start)
        assert unit == "token" or stop == 600 or begins[stop]
    counts, shares = np.bincount(sizes, minlength=6), 1 / np.arange(1, 6)
    assert counts[0] == 0
    assert len(counts) == 6
    expected = shares / shares.sum() * len(sizes)
    # a text ends its spans when one does not fit into what is left: a little rarer for the long ones
    assert (np.abs(counts[1:] - expected) < 4 * np.sqrt(expected) + 0.03 * expected).all(), (counts[1:], expected)
    lengths = np.asarray([stop - start for _, (start, stop) in found])
    assert len(lengths) > 1000


def test_each_span_lies_in_six_times_its_own_length():
    gaps = 0
    draw = chance(2)
    for _ in range(200):
        spans = SpansInContext(unit="token").spans(np.ones(2000, bool), np.ones(2000, bool), 400, draw)
        edge = 0
        for start, stop in spans:
            before = start - edge
            assert 0 <= before <= 5 * (stop - start) or stop == 2000
            edge = stop + 5 * (stop - start) - before
            gaps += before > 0
    assert gaps > 100


def test_a_special_ends_a_span():
    free = np.ones(60, bool)
    free[::7] = False
    for seed in range(50):
        for start, stop in SpansInContext().spans(np.ones(60, bool), free, 30, chance(seed)):
            assert free[start:stop].all()
            assert stop > start


def test_faults_are_said(batches):
    for name in ("one_in", "block"):
        with pytest.raises(ValidationError, match=name):
            PermutationObjective(**{name: 0})
    with pytest.raises(Fault, match=r"batches.reuse = 46"):
        batches("batches.reuse=46")
    with pytest.raises(Fault, match="lanes"):
        batches(size=100_000)


def test_blocks_come_one_after_another(batches):
    _, _, _, (batch,) = batches("objective.block=8", size=4)
    for order, queries in zip(batch.inputs.order, batch.inputs.queries):
        ranks = order[queries.sort().values]
        blocks = queries.sort().values // 8 + 100 * (queries.sort().values >= REUSE)
        assert all(
            ranks[blocks == a].max() < ranks[blocks == b].min() for a, b in zip(blocks.unique(), blocks.unique()[1:])
        )
