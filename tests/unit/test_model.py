"""`foreword.load` and what a loaded model answers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import foreword
from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.basics.messages import Fault
from foreword.exchange import hugging_face
from foreword.networks.base import Inputs
from foreword.runs.train import train
from tests.tiny import tiny


@pytest.fixture(scope="module")
def opened(stores, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name in ("gpt2", "bert", "bigram", "lstm"):
        kind = "wordpiece" if name == "bert" else "byte_bpe"
        train(tiny(name, *([] if name == "bigram" else ['training.budget="2"'])), stores[kind], folder / name)
        found[name] = foreword.load(folder / name)
    return found


def test_abilities_are_said(opened):
    assert opened["gpt2"].abilities == ["score", "generate", "embed", "logits"]
    assert opened["bert"].abilities == ["fill", "embed", "logits"]
    assert opened["bigram"].abilities == ["score", "generate"]
    with pytest.raises(Fault, match=r"cannot generate; it can fill, embed, logits"):
        opened["bert"].generate("x")
    with pytest.raises(Fault, match="cannot embed; it can score, generate"):
        opened["bigram"].embed(["x"])
    assert "can score, generate" in repr(opened["bigram"])


@pytest.mark.parametrize("name", ["gpt2", "bigram", "lstm"])
def test_a_score_has_its_parts(opened, name):
    text = "A class definition 今天 " * 12
    found = opened[name].score(text)
    assert found.bytes == len(text.encode())
    assert found.characters == len(text)
    assert len(found.each) == found.tokens == len(opened[name].tokenizer.encode(text))
    assert -sum(log for _, log in found.each) == pytest.approx(found.nats)
    assert "".join(piece for piece, _ in found.each).startswith("AĠ")
    with pytest.raises(Fault, match="no text to score"):
        opened[name].score("")


def test_generating_one_or_many(opened):
    model = opened["gpt2"]
    assert isinstance(model.generate("The", max_tokens=5), str)
    assert len(model.generate("The", n=3, max_tokens=5)) == 3
    assert len(model.generate(["The", "A"], n=2, max_tokens=5)) == 4
    assert model.generate("The", max_tokens=5, seed=1) == model.generate("The", max_tokens=5, seed=1)
    told = []
    text = model.generate("The", max_tokens=9, stream=lambda row, new: told.append(new), stop="e")
    assert "".join(told) == text
    assert "e" not in text


def test_logits_are_the_heads(opened):
    logits = opened["gpt2"].logits([5, 6, 7])
    assert logits.shape == (3, 512)
    assert logits.dtype == np.float32
    probabilities = torch.from_numpy(logits).log_softmax(-1)[-1]
    begun, _ = opened["gpt2"].language_model.begin([np.array([5, 6, 7])])
    assert torch.allclose(probabilities, begun[0], atol=1e-5)


def test_vectors_of_texts(opened):
    for name in ("gpt2", "bert", "lstm"):
        vectors = opened[name].embed(["a sentence", "another", "x " * 200])
        assert vectors.shape == (3, 32)
        assert vectors.dtype == np.float32
        assert np.allclose(vectors[1], opened[name].embed("another")[0], atol=1e-6)
        assert not np.allclose(vectors[0], opened[name].embed(["a sentence"], pool="last")[0])
    with pytest.raises(Fault, match="pool 'max' is not one of"):
        opened["bert"].embed(["x"], pool="max")


TEXTS = [
    "a sentence",
    "x",
    "another one, longer than the first",
    "",
    "the end of it all",
    "a",
    "x " * 60,
    "今天天气很好",
]


@pytest.mark.parametrize("pool", ["mean", "first", "last"])
def test_many_texts_have_the_vectors_of_each_alone(opened, pool):
    for name in ("gpt2", "bert", "lstm"):
        for layer in (-1, 0, 1):
            together = opened[name].embed(TEXTS, pool, layer)
            alone = np.concatenate([opened[name].embed([text], pool, layer) for text in TEXTS])
            assert np.allclose(together, alone, atol=1e-5), name


def test_no_texts_have_no_vectors_scores_or_guesses(opened):
    for name in ("gpt2", "bert", "lstm"):
        assert opened[name].embed([]).shape == (0, 32)
    assert opened["bert"].fill([]) == []
    assert [opened[name].score([]) for name in ("gpt2", "bert", "lstm", "bigram")] == [[]] * 4
    assert opened["gpt2"].generate([]) == []


def test_what_is_not_read_is_said(opened, capsys):
    opened["gpt2"].embed(["short", "x " * 200, "y " * 200])
    assert (
        "2 of 3 texts are longer than the 32 tokens that gpt2 reads at once: only the beginning counts."
        in capsys.readouterr().err
    )
    opened["bert"].embed(["x " * 200])
    assert "1 of 1 texts is longer than the 30 tokens that bert reads at once" in capsys.readouterr().err
    opened["lstm"].embed(["x " * 200])
    assert capsys.readouterr().err == "", "it has no limit"
    opened["gpt2"].generate(["word", "word " * 100], n=2, max_tokens=1)
    assert capsys.readouterr().err.count("only the last 32 count") == 1
    opened["bigram"].generate("word " * 100, max_tokens=1)
    assert capsys.readouterr().err == ""
    with pytest.raises(Fault, match="there is no gap in .* among the tokens that can be read"):
        opened["bert"].fill("x " * 200 + "[MASK]")
    with pytest.raises(Fault, match=r"has no layer 7.\n.*It has 0 \(the embeddings\) to 2; -1 is the last"):
        opened["gpt2"].embed(["x"], layer=7)


def test_many_scores_and_gaps_are_those_of_each_alone(opened):
    texts = [text for text in TEXTS if text]
    for name in ("gpt2", "lstm", "bigram", "bert"):
        for one, text in zip(opened[name].score(texts), texts, strict=True):
            alone = opened[name].score(text)
            assert one.nats == pytest.approx(alone.nats, abs=1e-3)
            assert (one.tokens, one.bytes, one.policy, one.kind) == (
                alone.tokens,
                alone.bytes,
                alone.policy,
                alone.kind,
            )
            assert [piece for piece, _ in one.each] == [piece for piece, _ in alone.each]
    gaps = ["the [MASK] statement", "[MASK]", "[MASK] and a longer text with [MASK]"]
    for many, text in zip(opened["bert"].fill(gaps), gaps, strict=True):
        alone = opened["bert"].fill(text)
        for one, other in zip(np.ravel(many), np.ravel(alone), strict=True):
            assert (one.token, one.text) == (other.token, other.text)
            assert one.probability == pytest.approx(other.probability, abs=1e-5)


def test_logits_outside_the_vocabulary_or_the_context_are_a_sentence(opened):
    size = len(opened["gpt2"].tokenizer)
    for ids, words in (
        ([1, size], f"has ids 0 to {size - 1:,}; {size:,} is not one of them"),
        ([-1], "-1 is not one of them"),
        ([1] * 33, "reads at most 32 ids at once; these are 33"),
        ([], "at least one"),
        ([[1, 2]], "a list of ids"),
    ):
        with pytest.raises(Fault, match=words):
            opened["gpt2"].logits(ids)


def test_filling_gaps(opened):
    guesses = opened["bert"].fill("the [MASK] statement", k=4)
    assert len(guesses) == 4
    assert [g.probability for g in guesses] == sorted((g.probability for g in guesses), reverse=True)
    assert all(0 <= g.probability <= 1 for g in guesses)
    assert len(opened["bert"].fill("[MASK] and [MASK]")) == 2
    with pytest.raises(Fault, match="there is no gap"):
        opened["bert"].fill("no gap here")


def test_a_classifier_points_to_predict(store, tmp_path):
    values = tiny("gpt2").values()
    values["objective"] = {"kind": "classify", "reading": "last", "labels": ["good", "bad"]}
    values["batches"] = {"kind": "examples"}
    recipe = loader.from_values(values, "test")
    tokenizer = store().tokenizer
    hugging_face.write(tmp_path / "classifier", recipe, model_for(recipe, tokenizer.vocabulary()), tokenizer)
    model = foreword.load(tmp_path / "classifier")
    texts = ["a sentence", "x", "another, longer one"]
    assert model.predict(texts) == [model.predict([text])[0] for text in texts]
    assert set(model.predict(texts)) <= {"good", "bad"}
    assert model.predict([]) == []
    with pytest.raises(Fault, match="a text or a pair of texts, not to"):
        model.predict([("a", "b", "c")])
    for asked in (lambda: model.generate("x"), lambda: model.score("x"), lambda: model.language_model):
        with pytest.raises(
            Fault,
            match=rf"cannot (generate|score); it can predict, embed.\n.*foreword predict {tmp_path / 'classifier'} FILE",
        ):
            asked()


def test_a_network_names_the_neighbours_of_its_tokens(opened):
    near = opened["gpt2"].neighbours("the", 3)
    assert len(near) == 3
    assert near[0][1] >= near[1][1] >= near[2][1]


def test_a_model_with_a_memory_says_how_far_it_sees(stores, tmp_path):
    run = train(tiny("transformer-xl"), stores["byte_bpe"], tmp_path / "run")
    assert (
        "a token sees at most the 32 tokens before it"
        in foreword.load(run.path).score("The class of an object. " * 20).policy
    )


def test_clamped_units_keep_their_value_while_it_writes(opened):
    lstm, seen = opened["lstm"], []
    network = lstm.with_heads.network
    width = network.units(network(Inputs(torch.zeros(1, 1, dtype=torch.long))).state).size(-1)
    watch = network.register_forward_hook(lambda _, given, output: seen.append(network.units(output.state)[:, 3]))
    written = lstm.continuations(["A class", "the"], max_tokens=5, clamp={3: 2.5, width - 1: -1.0})
    watch.remove()
    assert len(written) == 2
    assert torch.equal(torch.stack(seen[1:]), torch.full((5, 2), 2.5)), "the first call asked for the units"
    assert lstm.generate("A class", max_tokens=5) == lstm.generate("A class", max_tokens=5, clamp={})
    with pytest.raises(Fault, match=f"has units 0 to {width - 1}; {width} is not one of them"):
        lstm.generate("A", clamp={width: 1.0})
    with pytest.raises(Fault, match="carries no units from token to token"):
        opened["gpt2"].generate("A", clamp={0: 1.0})
    with pytest.raises(Fault, match="is no network"):
        opened["bigram"].generate("A", clamp={0: 1.0})
