"""ARPA files and KenLM's binaries are models like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.counts.arpa import write_arpa
from foreword.counts.smoothed import SmoothedNGram
from foreword.runs.moving import import_model
from foreword.tokens.kinds import ByteBPE, Word

TEXT = "the old harbour lies below the town\nthe town lies below the hill\nthe old men say the winter is long\n" * 3
HERE = Path(__file__).parent


def written(tokenizer, path):
    model = SmoothedNGram(order=3).build(tokenizer.vocabulary())
    lines = [[*tokenizer.encode(line), tokenizer.special("[end]")] for line in TEXT.splitlines()]
    model.count(np.concatenate(lines))
    model.estimate()
    write_arpa(model, lambda token: tokenizer.pieces([token])[0], path)
    return model


def test_a_file_of_words_answers_like_the_model_it_was_written_from(tmp_path):
    tokenizer = Word().train(iter(TEXT.splitlines()))
    model = written(tokenizer, tmp_path / "words.arpa")
    sentence = "the old town is unheard of"
    ids = np.array([tokenizer.special("[end]"), *tokenizer.encode(sentence)])
    loaded = foreword.load(tmp_path / "words.arpa")
    assert loaded.recipe.name == "words"
    assert np.isclose(loaded.score(sentence).nats, -model.score([ids], [1])[0].sum(), atol=1e-6)
    assert loaded.score(sentence).spelled > 0
    run, _ = import_model(tmp_path / "words.arpa", tmp_path / "run")
    again = foreword.load(run.path)
    assert again.score(sentence).nats == loaded.score(sentence).nats
    assert again.generate("the old", max_tokens=3, seed=1) == loaded.generate("the old", max_tokens=3, seed=1)


def test_a_file_of_pieces_cannot_be_asked_about_words(tmp_path):
    written(ByteBPE(vocabulary=300).train(iter([TEXT])), tmp_path / "pieces.arpa")
    with pytest.raises(Fault, match=r"pieces.arpa is not a model of words: .* is a piece of another tokenizer"):
        foreword.load(tmp_path / "pieces.arpa")


def test_kenlms_binary_gives_the_numbers_of_the_arpa_file_it_was_made_from(tmp_path):
    pytest.importorskip("kenlm", reason="kenlm is not installed: ITS BINARIES ARE NOT TRIED")
    arpa, binary = foreword.load(HERE / "tiny.arpa"), foreword.load(HERE / "tiny.binary")
    sentences = ["the old town", "the hill is long", "harbour harbour unheard the", "the"]
    for sentence in sentences:
        assert np.isclose(arpa.score(sentence).nats, binary.score(sentence).nats, atol=1e-4)
    for one, other in zip(
        *(model.language_model.begin([[], model.tokenizer.encode("the old")])[0] for model in (arpa, binary))
    ):
        order = [binary.tokenizer.pieces([token])[0] for token in range(len(other))]
        there = [arpa.tokenizer.vocabulary().pieces.index(piece) for piece in order]
        np.testing.assert_allclose(np.maximum(one[there], -100), np.maximum(other, -100), atol=1e-4)
    with pytest.raises(Fault, match="cannot be written again"):
        import_model(HERE / "tiny.binary", tmp_path / "run")


def test_without_the_package_a_binary_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "kenlm", None)
    with pytest.raises(Fault, match=r"opening it needs the package kenlm.\n.*foreword\[kenlm\]"):
        foreword.load(HERE / "tiny.binary")
