"""A loaded table of vectors: neighbours, analogies, similarity, texts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.runs.opening import TrainedModel
from foreword.runs.train import train
from foreword.tokens.kinds import Words
from foreword.vectors.table import VectorTable
from foreword.vectors.words import WordVectors
from tests.tiny import tiny

TEXT = "man king woman queen man king woman queen paris france rome italy rare"


@pytest.fixture
def planted() -> WordVectors:
    """A table in which one direction is royalty and another is womanhood."""
    tokenizer = Words().train(iter([TEXT]))
    table = VectorTable(tokenizer.vocabulary(), 4)
    table.counts = np.bincount(tokenizer.encode(TEXT), minlength=len(tokenizer))
    for word, vector in {
        "man": [1, 0, 0, 0],
        "king": [1, 1, 0, 0],
        "woman": [1, 0, 1, 0],
        "queen": [1, 1, 1, 0],
    }.items():
        table.vectors[tokenizer.encode(word)] = vector
    table.vectors[tokenizer.encode("rare")] = [0, 0, 0, 1]
    return WordVectors("planted", table, tokenizer)


@pytest.mark.parametrize("method", ["add", "mul"])
def test_an_analogy_leaves_its_own_words_out(planted, method):
    assert planted.analogy("man", "king", "woman", k=1, method=method)[0][0] == "queen"
    assert not {"man", "king", "woman"} & {word for word, _ in planted.analogy("man", "king", "woman", method=method)}
    with pytest.raises(Fault, match="'times' is not one of add, mul"):
        planted.analogy("man", "king", "woman", method="times")


def test_neighbours_are_in_order_and_never_the_word_itself(planted):
    near = planted.neighbours("king", 3)
    assert [word for word, _ in near] == ["queen", "man", "woman"]
    assert near[0][1] == pytest.approx(2 / np.sqrt(6))
    assert planted.similarity("king", "queen") == pytest.approx(2 / np.sqrt(6))
    assert len(planted.neighbours("king", 100)) == 8  # no <unk>, no end
    with pytest.raises(Fault, match="planted has no vector for 'prince'"):
        planted.neighbours("prince")


def test_a_text_is_the_mean_of_its_words_and_rare_ones_weigh_more_on_request(planted):
    plain, weighted = (planted.embed("man rare unheard-of", pool=pool)[0] for pool in ("mean", "rarity"))
    assert np.allclose(plain, [0.5, 0, 0, 0.5])
    assert weighted[3] > weighted[0] > 0
    assert not planted.embed(["", "unheard"]).any()
    assert planted.embed([]).shape == (0, 4)


def test_a_trained_table_opens_and_says_that_it_has_no_bits_per_byte(stores, tmp_path):
    run = train(tiny("word2vec"), stores["byte_bpe"], tmp_path / "run")
    vectors = foreword.load(run.path)
    assert len(vectors.neighbours("the", 3)) == 3
    assert vectors.abilities == ["embed", "neighbours", "analogy", "similarity"]
    for asked in (lambda: vectors.score("x"), lambda: TrainedModel.opened(run.path).language_model):
        with pytest.raises(Fault, match=r"cannot score; it can embed.*\n.*it has no bits per byte"):
            asked()
    code = (
        f"import sys, foreword; foreword.load({str(run.path)!r}).neighbours('the'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_word_is_summed_with_what_it_is_guessed_by_where_that_is_its_own(planted):
    planted.table.outputs[:] = 2
    assert planted.summed is planted.table.vectors, "nobody says how these were learned"
    for settings, both in (({"kind": "skip_gram"}, True), ({"kind": "skip_gram", "negatives": 0}, False)):
        one = WordVectors("planted", planted.table, planted.tokenizer, {"objective": settings})
        assert np.array_equal(one.summed, planted.table.vectors + 2 * both)
