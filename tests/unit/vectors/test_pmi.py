"""PMI's vectors: the singular values of the table, counted in any order of runs."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.messages import Faults
from foreword.kernels import sparse
from foreword.kernels.sparse import multiply, multiply_in_numpy
from foreword.tokens.vocabulary import Vocabulary
from foreword.vectors.pmi import Pmi
from foreword.vectors.svd import left_vectors


def random_sparse(rows: int, columns: int, share: float, seed: int = 0):
    draw = np.random.default_rng(seed)
    whole = np.where(draw.random((rows, columns)) < share, draw.standard_normal((rows, columns)), 0).astype(np.float32)
    whole[3] = 0  # a row without entries
    starts = np.append(0, np.cumsum((whole != 0).sum(1))).astype(np.int64)
    return whole, starts, np.nonzero(whole)[1].astype(np.int32), whole[whole != 0]


@pytest.mark.parametrize("width", [1, 5, 16, 37])
def test_the_sparse_product_is_the_dense_one(width, monkeypatch):
    whole, *given = random_sparse(70, 50, 0.2)
    dense = np.random.default_rng(1).standard_normal((50, width)).astype(np.float32)
    monkeypatch.setattr(sparse, "AT_ONCE", 40)
    for found in (multiply(*given, dense), multiply_in_numpy(*given, dense)):
        assert np.allclose(found, whole @ dense, atol=1e-4)


def test_kernels_that_are_off_leave_it_to_numpy(monkeypatch):
    whole, *given = random_sparse(20, 20, 0.3)
    monkeypatch.setattr(sparse, "library", lambda: None)
    assert np.allclose(multiply(*given, np.eye(20, dtype=np.float32)), whole, atol=1e-6)


def test_directions_are_those_of_the_singular_values():
    draw = np.random.default_rng(0)
    left, right = (np.linalg.qr(draw.standard_normal((200, 200)))[0] for _ in range(2))
    values = 0.8 ** np.arange(200)
    whole = ((left * values) @ right.T).astype(np.float32)
    vectors, found = left_vectors(lambda x: whole @ x, lambda x: whole.T @ x, 200, 12)
    assert np.allclose(found, values[:12], rtol=1e-3)
    assert np.allclose(np.abs((vectors * left[:, :12]).sum(0)), 1, atol=1e-3)


def table(**settings):
    pieces = ("<end>", "<unk>", *(f"w{n}" for n in range(2, 42)))
    return Pmi(width=8, **settings).build(Vocabulary(42, 0, (), pieces, np.ones(42), unknown=1))


def topics(mixed: bool) -> np.ndarray:
    """Lines of one of two topics; the control: of both."""
    draw = np.random.default_rng(0)
    lines = [2 + 20 * (number % 2) + draw.integers(0, 20, 12) for number in range(400)]
    lines = [2 + draw.integers(0, 40, 12) for _ in lines] if mixed else lines
    return np.concatenate([np.append(line, 0) for line in lines])


def test_words_of_one_topic_become_neighbours():
    def of_its_own(mixed: bool) -> float:
        made = table()
        made.count(topics(mixed))
        made.estimate()
        vectors = made.vectors[2:] / np.linalg.norm(made.vectors[2:], axis=1, keepdims=True)
        near = vectors @ vectors.T - 2 * np.eye(40)
        return float(((near.argmax(1) < 20) == (np.arange(40) < 20)).mean())

    assert of_its_own(False) == 1.0
    assert of_its_own(True) < 0.8


def test_runs_of_any_length_and_little_memory_give_the_same_bytes():
    ids, found = topics(False), []
    for parts, memory in ((1, None), (13, None), (5, 30_000)):
        made = table()
        made.bounded(memory)
        for part in np.array_split(ids, parts):
            made.count(part)
        made.estimate()
        found.append(made.arrays())
    for other in found[1:]:
        assert all(np.array_equal(other[name], array) for name, array in found[0].items())


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("objective.window=0", "window must be at least 1"),
        ("network.power=2.0", "the power of frequencies lies between 0 and 1"),
        ("network.add=-1.0", "add must be at least 0"),
        ('training.memory="much"', "'much' is not an amount of memory"),
        ('objective.kind="causal"', "is for networks, not for 'pmi'"),
    ],
)
def test_wrong_settings_are_sentences(setting, said):
    with pytest.raises(Faults, match=said):
        loader.load("pmi", "", [setting])
