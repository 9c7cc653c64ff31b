"""word2vec's loop in C against the same in numpy, and both against the formulas."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from foreword.kernels import word_vectors
from foreword.kernels.word_vectors import (
    Huffman,
    NoiseDistribution,
    Update,
    WordSequence,
    learn,
    learn_in_numpy,
    padded,
)

WORDS, DOCUMENTS = 40, 3
MODES = [(pool, way) for pool in ("each", "mean", "word_mean", "sum") for way in ("noise", "huffman")]
SIDE_BY_SIDE = {"pool": "concatenation", "places": (3, 1), "empty": 7}


def made(way: str, width: int = 20, places: int = 300, documents: bool = False, seed: int = 0):
    """Tables far from zero, a text with its windows, and how words are guessed."""
    draw = np.random.default_rng(seed)
    vectors, outputs = padded(WORDS + DOCUMENTS, width), padded(WORDS, width)
    for array in (vectors, outputs):
        array[:] = draw.normal(0, 0.3, array.shape)
    counts, place = draw.integers(1, 100, WORDS), np.arange(places)
    reach = draw.integers(0, 6, places)
    own = (WORDS + draw.integers(-1, DOCUMENTS, places)).astype(np.int32) if documents else None
    if own is not None:
        own[own < WORDS] = -1
    text = WordSequence(
        draw.integers(WORDS, size=places).astype(np.int32),
        np.maximum(0, place - reach).astype(np.int32),
        np.minimum(places, place + reach + 1).astype(np.int32),
        own,
    )
    return vectors, outputs, text, NoiseDistribution(counts**0.75, 5) if way == "noise" else Huffman(counts)


def copied(array: np.ndarray) -> np.ndarray:
    other = padded(*array.shape)
    other[:] = array
    return other


@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize(("pool", "way"), [*MODES, ("concatenation", "noise"), ("concatenation", "huffman")])
def test_the_kernel_does_what_the_original_loop_does(pool, way, documents):
    for width in (5, 20, 33):
        vectors, outputs, text, how = made(way, width, documents=documents)
        update = Update(how, 0.05, 1234, pool)
        if pool == "concatenation":
            update = replace(update, **SIDE_BY_SIDE)
            outputs = padded(WORDS, update.joined, width)
            outputs[:] = np.random.default_rng(5).normal(0, 0.3, outputs.shape)
        other = copied(vectors), copied(outputs)
        before = vectors.copy()
        first, second = learn(vectors, outputs, text, update), learn_in_numpy(*other, text, update, other[0])
        assert np.allclose(vectors, other[0], atol=1e-5)
        assert np.allclose(outputs, other[1], atol=1e-5)
        assert abs(vectors - before).max() > 0.05
        assert first == pytest.approx(second, rel=1e-5)


@pytest.mark.parametrize("pool", ["each", "mean", "concatenation"])
def test_documents_may_have_a_table_and_positions_numbers_of_their_own(pool):
    vectors, outputs, text, how = made("noise", documents=True)
    whole = replace(text, places=np.arange(len(text.ids), dtype=np.int32))
    update = Update(how, 0.05, 3, pool)
    if pool == "concatenation":
        update, outputs = replace(update, **SIDE_BY_SIDE), padded(WORDS, 5, 20)
    apart = replace(whole, documents=np.where(text.documents < 0, -1, text.documents - WORDS).astype(np.int32))
    other, own = (copied(vectors[:WORDS]), copied(outputs)), copied(vectors[WORDS:])
    learn(vectors, outputs, whole, update)
    learn(*other, apart, update, own)
    assert (vectors == np.concatenate([other[0], own])).all()
    assert (outputs == other[1]).all()
    learn(*other, replace(apart, places=apart.places + 1), update, own)
    learn(vectors, outputs, whole, update)
    assert (outputs != other[1]).any(), "other numbers draw other words"


def test_the_same_call_gives_the_same_bytes_and_another_seed_others():
    found = []
    for seed in (7, 7, 8):
        vectors, outputs, text, how = made("noise")
        learn(vectors, outputs, text, Update(how, 0.05, seed))
        found.append(vectors.tobytes() + outputs.tobytes())
    assert found[0] == found[1] != found[2]


def test_two_threads_learn_what_one_does_where_they_share_no_row():
    """Half a text of even words, half of odd ones, outputs that stay: threads then never write what the other reads."""
    learned = []
    for threads in (1, 2):
        vectors, outputs, text, how = made("noise", places=4000)
        half, place = 2000, np.arange(4000)
        ids = text.ids // 2 * 2 + (place >= half)
        first = np.where(place >= half, np.maximum(text.first, half), text.first)
        last = np.where(place < half, np.minimum(text.last, half), text.last)
        apart = WordSequence(ids.astype(np.int32), first.astype(np.int32), last.astype(np.int32))
        before = vectors.copy()
        learn(vectors, outputs, apart, Update(how, 0.01, 5, outputs=False, threads=threads))
        assert (abs(vectors - before)[:WORDS].max(1) > 0.01).all(), "both halves were read"
        learned.append(vectors.tobytes())
    assert learned[0] == learned[1]


@pytest.mark.parametrize(("pool", "way"), MODES)
def test_an_update_is_a_step_along_the_gradient(pool, way):
    """Of a single guess, against finite differences of what it costs."""
    vectors, outputs, _, how = made(way, 4)
    text = WordSequence(*(np.array(x, np.int32) for x in ([3, 9], [0, 1], [2, 2])))  # word 9 stands beside word 3
    update = Update(how, 0.01, 77, pool)
    rows, wanted = how.guessed(3, 77, 0, 0)
    signs = np.where(np.array(wanted) > 0, 1, -1)

    def cost(vectors, outputs):
        return np.log1p(np.exp(-signs * (outputs[rows] @ vectors[9]))).sum()

    before = [array.astype(np.float64) for array in (vectors, outputs)]
    nats, guesses = learn_in_numpy(vectors, outputs, text, update, vectors)
    assert (nats, guesses) == (pytest.approx(cost(*before), rel=1e-5), 1)
    for which, array in enumerate((vectors, outputs)):
        for place in np.ndindex(array.shape):
            moved = [one.copy() for one in before]
            moved[which][place] += 1e-6
            slope = (cost(*moved) - cost(*before)) / 1e-6
            assert array[place] == pytest.approx(before[which][place] - 0.01 * slope, abs=2e-4), (which, place)


def test_what_is_not_to_be_learned_stays_as_it_was():
    for pool, way in MODES:
        vectors, outputs, text, how = made(way, documents=True)
        before = vectors.copy(), outputs.copy()
        learn(vectors, outputs, text, Update(how, 0.05, 3, pool, words=False, outputs=False))
        assert (outputs == before[1]).all()
        assert (vectors[:WORDS] == before[0][:WORDS]).all()
        assert (vectors[WORDS:] != before[0][WORDS:]).any()
        learn(vectors, outputs, text, Update(how, 0.05, 3, pool, words=False, outputs=False, documents=False))
        assert (vectors[:WORDS] == before[0][:WORDS]).all()


def test_a_document_alone_is_a_word_that_stands_beside_every_other():
    """PV-DBOW is skip-gram with the document in the place of the word."""
    vectors, outputs, text, how = made("huffman")  # which draws nothing
    places = np.arange(len(text.ids), dtype=np.int32)
    alone = WordSequence(text.ids, places, places + 1, np.full_like(text.ids, WORDS))
    other = copied(vectors), copied(outputs)
    learn(vectors, outputs, alone, Update(how, 0.05, 3))
    for place in places:  # the document's row as the only word around each
        pair = np.array([text.ids[place], WORDS], np.int32)
        window = WordSequence(pair, np.array([0, 1], np.int32), np.array([2, 2], np.int32))
        learn(*other, window, Update(_without_last(how), 0.05, 3))
    assert np.allclose(vectors[WORDS], other[0][WORDS], atol=1e-5)
    assert np.allclose(outputs, other[1], atol=1e-5)


@pytest.mark.parametrize("way", ["noise", "huffman"])
def test_a_document_fixed_at_zero_leaves_continuous_bag_of_words(way):
    """PV-DM whose mean is divided by the words alone, or whose sum it is, moves words as CBOW does; divided by all it does not."""

    def moved(pool: str, documents: bool) -> bytes:
        vectors, outputs, text, how = made(way)
        lonely = text.last - text.first < 2  # CBOW guesses nothing there
        vectors[WORDS:] = 0
        own = np.where(lonely, -1, WORDS).astype(np.int32) if documents else None
        learn(vectors, outputs, replace(text, documents=own), Update(how, 0.05, 9, pool, documents=False))
        assert not vectors[WORDS:].any()
        return vectors.tobytes() + outputs.tobytes()

    assert moved("word_mean", True) == moved("mean", False)
    assert moved("sum", True) == moved("sum", False)
    assert moved("mean", True) != moved("mean", False)


def _without_last(how: Huffman) -> Huffman:
    """With a path of no turns for the document, which is no word to be guessed."""
    other = Huffman.__new__(Huffman)
    other.nodes, other.turns = how.nodes, how.turns
    other.paths = np.append(how.paths, [how.paths[-1]] * DOCUMENTS)
    return other


def test_probabilities_along_the_tree_sum_to_one():
    counts = np.random.default_rng(0).integers(1, 1000, 200)
    tree, draw = Huffman(counts), np.random.default_rng(1)
    nodes, hidden = draw.normal(size=(199, 8)), draw.normal(size=8)
    total = 0.0
    for word in range(200):
        rows, turns = tree.guessed(word, 0, 0, 0)
        scores = nodes[rows] @ hidden * np.where(np.array(turns) > 0, 1, -1)
        total += np.exp(-np.log1p(np.exp(-scores)).sum())
    assert total == pytest.approx(1, abs=1e-12)


def test_the_tree_is_as_short_as_can_be():
    counts = np.append(np.random.default_rng(0).zipf(1.3, 300).clip(1, 10**6), 0)
    tree = Huffman(counts)
    lengths = np.diff(tree.paths)
    assert lengths[-1] == 0  # a word that never occurs
    heap, best = list(counts[:-1].astype(float)), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        best += both
        heapq.heappush(heap, both)
    assert (lengths * counts).sum() == pytest.approx(best)
    shares = counts[:-1] / counts.sum()
    entropy = -(shares * np.log2(shares)).sum()
    assert entropy <= (lengths[:-1] * shares).sum() < entropy + 1


def test_others_are_drawn_by_frequency_to_the_three_quarters():
    stats = pytest.importorskip("scipy.stats")
    counts = np.array([100_000, 20_000, 5000, 900, 40, 7, 1, 0])
    noise = NoiseDistribution(counts**0.75 * (counts > 0), 10)
    drawn = np.bincount(np.concatenate([noise.draw(3, place, 2) for place in range(100_000)]), minlength=8)
    assert drawn[-1] == 0
    wanted = counts[:-1] ** 0.75
    assert stats.chisquare(drawn[:-1], wanted / wanted.sum() * 1e6).pvalue > 0.001
    assert stats.chisquare(drawn[:-1], counts[:-1] / counts.sum() * 1e6).pvalue < 1e-6


def test_rows_begin_on_cache_lines_and_their_ends_stay_zero():
    vectors, outputs, text, how = made("noise", 20)
    assert vectors.ctypes.data % 64 == 0
    assert vectors.strides[0] == 128
    learn(vectors, outputs, text, Update(how, 0.05, 1))
    whole = np.lib.stride_tricks.as_strided(vectors, (len(vectors), 32), vectors.strides)
    assert not whole[:, 20:].any()


def test_without_kernels_numpy_answers(monkeypatch):
    monkeypatch.setattr(word_vectors, "library", lambda: None)
    vectors, outputs, text, how = made("noise", places=30)
    other = copied(vectors), copied(outputs)
    learn(vectors, outputs, text, Update(how, 0.05, 1))
    learn_in_numpy(*other, text, Update(how, 0.05, 1), other[0])
    assert vectors.tobytes() == other[0].tobytes()
