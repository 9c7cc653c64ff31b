"""Held-out text as models are asked about it: ends of documents may be charged, and <unk> in the text is no loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.messages import Fault
from foreword.evaluate.held_out import Corpus, score_corpus
from foreword.evaluate.score import check_alike, check_comparable
from foreword.runs.opening import TrainedModel
from foreword.runs.train import train
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE, Word
from tests.tiny import tiny
from tests.unit.counts.test_kneser_ney import BruteForce

LINES = [f"the {word} sat on the <unk> mat" for word in ("cat", "dog", "hen", "cow", "fox", "cat")] * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text with given splits, no validation text among them, and models of words and of bytes trained on it."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "train.txt").write_text("\n".join(LINES))
    (folder / "test.txt").write_text("\n".join(LINES[:7]))
    (folder / "new.txt").write_text("the cat sat\nthe lion sat")
    given = {"train": [folder / "train.txt"], "test": [folder / "test.txt"]}
    for name, spec in (("words", Word()), ("bytes", ByteBPE(vocabulary=270))):
        build_store(given, folder / f"{name}-store", spec, documents="line")
        train(tiny("bigram"), folder / f"{name}-store", folder / name)
    return folder


@pytest.fixture(scope="module")
def models(folder):
    return {name: TrainedModel.opened(folder / name) for name in ("words", "bytes")}


def test_perplexity_of_words_is_kneser_neys_by_brute_force(tmp_path):
    """Text as the Penn Treebank is published: a space at either end of a line, <unk> a word like others, ends charged."""
    draw, words = np.random.default_rng(0), ["<unk>", "N", *(f"w{n}" for n in range(30))]
    shares = 1 / np.arange(1, 33)
    lines = [[words[n] for n in draw.choice(32, draw.integers(3, 12), p=shares / shares.sum())] for _ in range(300)]
    given = {"train": lines[:250], "test": lines[250:]}
    for name, some in given.items():
        (tmp_path / f"{name}.txt").write_text("".join(f" {' '.join(line)} \n" for line in some))
    paths = {name: [tmp_path / f"{name}.txt"] for name in given}
    build_store(paths, tmp_path / "store", Word(), documents="line")
    train(loader.load("kneser-ney", "", ["network.order=3"]), tmp_path / "store", tmp_path / "run")
    corpus = Corpus(tmp_path / "test.txt", "all", documents="line", ends=True)
    found = score_corpus(TrainedModel.opened(tmp_path / "run"), corpus).score
    slow, logs = BruteForce(given["train"], 3, [*words, "</s>"]), []
    for line in given["test"]:
        for at, word in enumerate([*line, "</s>"]):
            logs.append(math.log(slow.p(word, ("<s>", *line[:at]))))
    assert found.tokens == found.words == len(logs)
    assert found.nats == pytest.approx(-sum(logs), rel=1e-12)


def test_charged_ends_cost_what_they_cost_and_count_as_a_token_a_word_and_a_byte(folder, models):
    for name, model in models.items():
        plain, charged = (
            score_corpus(model, Corpus(folder / f"{name}-store", "test", ends=ends)) for ends in (False, True)
        )
        end = model.tokenizer.special("[end]")
        ends = sum(
            model.language_model.score(
                [np.asarray([*model.tokenizer.encode(line), end])], [len(model.tokenizer.encode(line))]
            )[0][0]
            for line in LINES[:7]
        )
        assert charged.score.nats == pytest.approx(plain.score.nats - ends)
        for what in ("tokens", "words", "bytes", "characters"):
            assert getattr(charged.score, what) == getattr(plain.score, what) + 7
        assert plain.score.policy.endswith("document ends are not charged")
        assert charged.score.policy.endswith("document ends are charged, each as a token, a word and a byte")
        assert charged.score.bits_per_byte == pytest.approx(charged.score.nats / math.log(2) / charged.score.bytes)


def test_text_that_already_has_unknown_words_is_not_called_lossy(folder, models):
    check_alike({name: model.nature for name, model in models.items()})
    scores = {
        name: score_corpus(model, Corpus(folder / f"{name}-store", "test")).score for name, model in models.items()
    }
    assert scores["words"].lossless
    assert scores["words"].unknown == 7, "they are said, as the words they are"
    assert scores["words"].word_perplexity == pytest.approx(scores["words"].perplexity), "a token is a word"
    check_comparable(scores)
    new = score_corpus(models["words"], Corpus(folder / "new.txt", "all", "line")).score
    assert new.lossless, "the lion was written, and is spelled out"
    assert new.spelled > 0
    assert new.bits_per_byte > new.nats / math.log(2) / new.bytes


def test_a_model_that_predicts_no_ends_cannot_be_charged_for_them(stores, tmp_path):
    run = train(tiny("bert", 'training.budget="1"'), stores["wordpiece"], tmp_path / "bert")
    with pytest.raises(Fault, match=r"predicts no ends of documents: there is nothing to charge for.\n.*--charge-ends"):
        score_corpus(TrainedModel.opened(run.path), Corpus(stores["wordpiece"], "test", ends=True))


def test_without_validation_text_the_last_weights_are_the_model(folder, tmp_path, capsys):
    run = train(
        tiny("lstm", 'training.budget="3"', "batches.length=4", "training.batch_size=2"),
        folder / "words-store",
        tmp_path / "run",
    )
    assert "there is no validation text" in capsys.readouterr().err
    assert run.passport()["finished"]
    assert run.passport()["best"] == {}
    assert not any("valid" in record for record in run.metrics())
    assert TrainedModel.opened(run.path).abilities
