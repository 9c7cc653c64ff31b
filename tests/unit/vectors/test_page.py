"""The page of a table of vectors: what it shows is what the vectors have, and nothing where they have nothing."""

from __future__ import annotations

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.runs.train import train
from foreword.vectors import page, senses
from foreword.vectors.words import WordVectors
from tests.tiny import tiny


def planted(seed: int = 0) -> WordVectors:
    """Countries far apart, capitals one step to the side of them; and words of two kinds that have nothing to do with them."""
    draw = np.random.default_rng(seed)
    lands = {land: draw.normal(size=20) for land in page.CAPITALS}
    towns = {town: lands[land] + 3 * np.eye(20)[0] for land, town in page.CAPITALS.items()}
    kinds = {
        f"{'xyz'[kind]}{chr(97 + n)}word": 9 * np.eye(20)[kind + 1] + draw.normal(size=20)
        for n in range(20)
        for kind in (0, 1)
    }
    whole = {**kinds, **lands, **towns}
    return WordVectors.of("planted", list(whole), np.stack(list(whole.values())).astype(np.float32))


def test_clusters_are_the_kinds_that_were_planted():
    vectors = planted()
    words = page.frequent(vectors, 40)
    found, kind = page.clusters(vectors.unit[words], 2), [piece[0] for piece in vectors.tokenizer.pieces(words)]
    assert len({(one, own) for one, own in zip(kind, found.tolist())}) == 2
    shuffled = page.clusters(np.random.default_rng(0).permuted(vectors.unit[words], axis=0), 2)
    assert len({(one, own) for one, own in zip(kind, shuffled.tolist())}) == 4


def test_a_plane_keeps_what_differs_most():
    points = np.random.default_rng(0).normal(size=(50, 9)) * [10, 5, *[0.01] * 7]
    flat = page.plane(points)
    apart = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    assert np.allclose(apart, np.linalg.norm(points[:, None, :2] - points[None, :, :2], axis=-1), atol=0.3)
    assert page.plane(np.zeros((3, 1))).shape == (3, 2)


def alike(vectors: WordVectors) -> float:
    return float(page.countries(vectors).blocks[0].note.split("arrows: ")[1].split(";")[0])


def test_the_page_has_neighbours_clusters_arrows_and_a_map(tmp_path):
    report = page.report(planted())
    file = report.save(tmp_path)
    text = file.read_text()
    assert all(word in text for word in ("Neighbours", "Countries and capitals", "Clusters", "A map", "beijing"))
    assert text.count("<svg") == 2
    assert alike(planted()) > 0.8
    mixed = planted()
    mixed.table.vectors[:] = np.random.default_rng(0).permutation(mixed.table.vectors)
    assert alike(mixed) < 0.4
    few = WordVectors.of("few", ["word", "other"], np.eye(2, dtype=np.float32))
    assert "Countries and capitals" not in page.report(few).html()


def test_a_table_without_words_has_a_page_that_says_so():
    assert "no words to show" in page.report(WordVectors.of("marks", [".", ","], np.eye(2, dtype=np.float32))).lead[0]


SENTENCES = ["We sat on the bank of the river.", "The bank lends money to us."]


def test_bank_is_one_vector_in_a_table_and_two_in_a_network_that_reads_its_sentence(stores, tmp_path):
    table = WordVectors.of("table", ["river", "bank", "money"], np.eye(3, dtype=np.float32))
    assert (np.diff(table.in_context("bank", SENTENCES), axis=0) == 0).all()
    for name in ("bert", "gpt2", "lstm"):
        kind = "wordpiece" if name == "bert" else "byte_bpe"
        run = train(tiny(name, 'training.budget="3"'), stores[kind], tmp_path / name)
        network = foreword.load(run.path)
        found = network.in_context("bank", SENTENCES)
        assert abs(np.diff(found, axis=0)).max() > 1e-4
        assert np.allclose(network.in_context("bank", SENTENCES[1:])[0], found[1], atol=1e-5)
        ids = network.in_context("bank", SENTENCES, layer=0)
        assert ids.shape == found.shape
    report = senses.report({"table": table, "network": network}, "bank", SENTENCES)
    assert report.values["cosines"]["table"][0][1] == pytest.approx(1)
    assert report.values["cosines"]["network"][0][1] < 1 - 1e-6
    with pytest.raises(Fault, match="'bank' is not in"):
        network.in_context("bank", ["banker", "bank"])
    with pytest.raises(Fault, match="at least two"):
        senses.report({"table": table}, "bank", SENTENCES[:1])
