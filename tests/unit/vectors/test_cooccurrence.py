"""Co-occurrence counts: every pair once, none across a border, the same however the text is cut; and PMI of them."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.columns import Scratch
from foreword.basics.messages import Fault
from foreword.tokens.vocabulary import Vocabulary
from foreword.vectors.association import Association
from foreword.vectors.cooccurrence import Cleaned, CooccurrenceWindow, PairTable, count_pairs, shuffled_inside

BORDER = 50


def text(tokens: int, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    ids = np.minimum(draw.zipf(1.3, tokens) - 1, BORDER - 1)
    ids[draw.random(tokens) < 0.05] = BORDER
    return ids


def table(ids: np.ndarray, memory: int | None = None, **settings) -> PairTable:
    near = CooccurrenceWindow(**settings)
    scratch = Scratch(memory)
    column = scratch.column(np.uint16)
    for part in np.array_split(ids, 7):
        column.append(part)
    keys, counts = count_pairs(column, near, BORDER)
    return PairTable.of(keys.array(), counts.array(), BORDER, near.unit)


def dense(pairs: PairTable) -> np.ndarray:
    whole = pairs.whole()
    found = np.zeros((pairs.size, pairs.size))
    found[whole.rows, whole.columns] = whole.counts
    return found


def by_two_loops(ids: np.ndarray, window: int, weighted: bool) -> np.ndarray:
    found, ids = np.zeros((BORDER, BORDER)), ids.tolist()
    for one in range(len(ids)):
        for other in range(one + 1, min(one + window + 1, len(ids))):
            if BORDER in (ids[one], ids[other]) or BORDER in ids[one:other]:
                break
            found[ids[one], ids[other]] += 1 / (other - one) if weighted else 1
            found[ids[other], ids[one]] += 1 / (other - one) if weighted else 1
    return found


@pytest.mark.parametrize("weighting", ["none", "distance"])
@pytest.mark.parametrize("window", [1, 4, 25])
def test_it_is_what_two_loops_count(weighting, window):
    ids = text(3000)
    wanted = by_two_loops(ids, window, weighting == "distance")
    assert np.allclose(dense(table(ids, window=window, weighting=weighting)), wanted, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("weighting", ["none", "distance"])
@pytest.mark.parametrize("memory", [200_000, pytest.param(20_000, marks=pytest.mark.thorough)])
def test_shards_merged_from_disk_change_no_digit(weighting, memory):
    ids = text(20_000)
    whole, parts = table(ids, weighting=weighting), table(ids, memory, weighting=weighting)
    for name, array in whole.arrays().items():
        assert np.array_equal(array, parts.arrays()[name]), name


def test_the_table_is_symmetric_and_its_sum_is_the_closed_formula():
    draw, window = np.random.default_rng(1), 6
    lengths = draw.integers(1, 20, 200)
    ids = np.concatenate([np.append(draw.integers(0, 40, length), BORDER) for length in lengths])
    found = table(ids, window=window)
    assert np.array_equal(dense(found), dense(found).T)
    pairs = sum(2 * sum(length - apart for apart in range(1, min(window, length - 1) + 1)) for length in lengths)
    assert found.total == dense(found).sum() == pairs
    without = table(ids[ids != BORDER], window=window)  # the control: windows across borders
    assert without.total > pairs


def test_joint_and_marginals_are_one_distribution_and_pairs_are_found():
    found = table(text(20_000))
    joint = dense(found) / found.total
    assert abs(joint.sum() - 1) < 1e-12
    assert np.abs(joint.sum(0) - found.sums / found.total).max() < 1e-12
    one, other = np.divmod(np.arange(BORDER * BORDER), BORDER)
    assert np.array_equal(found.find(one, other), dense(found).ravel())


def of(found: PairTable, one, other, **settings) -> np.ndarray:
    one, other = np.atleast_1d(one), np.atleast_1d(other)
    return Association(**settings).of(found.find(one, other), found.sums[one], found.sums[other], found.sums)


def test_words_that_are_independent_have_no_association():
    ids = np.random.default_rng(0).integers(0, BORDER, 1_000_000)
    one, other = np.divmod(np.arange(BORDER * BORDER), BORDER)
    assert abs(of(table(ids, window=5), one, other).mean()) < 0.02
    paired = np.repeat(ids[:500_000], 2)  # the control: every word twice
    assert of(table(paired, window=5), np.arange(BORDER), np.arange(BORDER)).mean() > 0.2


def test_a_planted_pair_has_the_association_that_follows_from_the_table():
    """Of all pairs that x is in, every one is with y: PMI = -log p(y)."""
    draw = np.random.default_rng(0)
    lines = [
        np.array([40, 41, BORDER]) if draw.random() < 0.2 else np.append(draw.integers(0, 30, 8), BORDER)
        for _ in range(3000)
    ]
    found = table(np.concatenate(lines), window=3)
    assert of(found, 40, 41)[0] == pytest.approx(-np.log(found.sums[41] / found.total), abs=1e-12)
    assert abs(of(found, 3, 4)[0]) < 0.2


def test_what_never_met_is_0_and_other_measures_follow():
    ids = np.concatenate([[0, 1, BORDER] * 10, [2, 3, BORDER] * 10, [0, 3, BORDER] * 2])
    found = table(ids)
    assert of(found, 1, 2)[0] == 0
    assert of(found, 1, 2, add=0.5)[0] < 0
    pmi, negative = of(found, 0, 1)[0], of(found, 0, 3)[0]
    assert pmi > 0 > negative
    assert of(found, 0, 3, measure="ppmi")[0] == 0
    assert of(found, 0, 1, measure="npmi")[0] == pytest.approx(pmi / -np.log(20 / 2 / found.total))
    raised = found.sums**0.75
    assert of(found, 0, 1, power=0.75)[0] == pytest.approx(
        np.log(10 / found.sums[0]) - np.log(raised[1] / raised.sum())
    )


def test_words_stand_apart_by_documents_lines_or_sentences():
    vocabulary = Vocabulary(8, 0, (7,), ("<end>", "<unk>", "\n", ".", "a", "b", "c", "<pad>"), None, unknown=1)
    ids = np.array([4, 1, 5, 2, 6, 3, 4, 0, 5])
    cleaned = {border: Cleaned(vocabulary, border)(ids).tolist() for border in ("document", "line", "sentence")}
    assert cleaned["document"] == [4, 5, 6, 3, 4, 8, 5]  # what is unknown leaves the text
    assert cleaned["line"] == [4, 5, 8, 6, 3, 4, 8, 5]
    assert cleaned["sentence"] == [4, 5, 8, 6, 8, 4, 8, 5]


def test_dealt_out_anew_words_keep_their_number_and_borders_their_place():
    ids = text(10_000)
    found = shuffled_inside(ids, BORDER)
    assert np.array_equal(found == BORDER, ids == BORDER)
    assert np.array_equal(np.bincount(found), np.bincount(ids))
    assert (found != ids).mean() > 0.5


def test_no_word_to_count_is_a_sentence():
    vocabulary = Vocabulary(3, 0, (), ("<end>", "<unk>", "a"), np.array([5, 9, 0]), unknown=1)
    with pytest.raises(Fault, match=r"no word is left to count.*\n.*tokenizer.minimum=1"):
        Cleaned(vocabulary, "line")
