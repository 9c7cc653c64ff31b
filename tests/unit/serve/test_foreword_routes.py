"""Routes of our own: each gives what the model gives in process."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.counts.mixture import MixtureOfModels
from foreword.evaluate import bits_per_byte as bits
from foreword.vectors.words import WordVectors
from tests.unit.serve.served_models import loaded, running

TEXT = "The class definition 今天 and a module. " * 6  # longer than the context of the tiny GPT-2


@pytest.fixture(scope="module")
def others(store, stores):
    """Models with other abilities, behind one server."""
    from foreword.tokens.store import TokenStore

    def of(name, kind):
        return loaded(name, store(kind), store(kind, "valid"))

    words = [f"word{i}" for i in range(30)]
    models = {
        "bert": of("bert", "wordpiece"),
        "transformer": of("transformer", "byte_bpe"),
        "chat": of("dialogpt", "dialogues"),
        "back": of("dialogpt-backward", "dialogues"),
        "vectors": WordVectors.of("vectors", words, np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)),
    }
    assert TokenStore is not None
    with running(models) as found:
        yield found, models


def test_a_score_is_that_of_the_model(server, models, name) -> None:
    (found,) = server.post("/v1/foreword/score", model=name, text=TEXT, alternatives=3)["scores"]
    expected = models[name].score(TEXT)
    assert found["bits_per_byte"] == pytest.approx(expected.bits_per_byte, abs=1e-5)
    assert found["policy"] == expected.policy
    assert [one["log_prob"] for one in found["each"]] == pytest.approx([log for _, log in expected.each], abs=1e-5)
    assert "".join(one["text"] for one in found["each"]) == TEXT
    for one in found["each"]:
        best = one["alternatives"][0]
        assert (one["rank"] == 1) == (np.log(best["probability"]) <= one["log_prob"] + 1e-6)
        assert 0 <= one["entropy"] <= 9
        assert len(one["alternatives"]) == 3


def test_a_mixture_is_that_of_the_models(server, models) -> None:
    weights = {"gpt2": 1, "kneser-ney": 3}
    found = server.post("/v1/foreword/mix", models=weights, text=TEXT, prompt="The", max_tokens=9, seed=2)
    tokenizer = models["gpt2"].tokenizer
    mixture = MixtureOfModels([models[one].language_model for one in weights], np.array([0.25, 0.75]))
    text = bits.text_of(TEXT, tokenizer)
    (logs,) = bits.log_probs(mixture, tokenizer, [text])
    assert found["score"]["nats"] == pytest.approx(-logs.sum())
    assert found["text"]
    assert found["score"]["nats"] != pytest.approx(models["gpt2"].score(TEXT).nats, rel=1e-3)


def test_gaps_are_filled(others) -> None:
    server, models = others
    gaps = server.post("/v1/foreword/fill", model="bert", text="the [MASK] is a [MASK].", k=3)["gaps"]
    expected = models["bert"].fill("the [MASK] is a [MASK].", k=3)
    assert [[one["token"] for one in gap] for gap in gaps] == [[one.token for one in gap] for gap in expected]
    (alone,) = server.post("/v1/foreword/fill", model="bert", text="the [MASK] is", k=2)["gaps"]
    assert len(alone) == 2
    assert "no gap" in server.refused("/v1/foreword/fill", model="bert", text="nothing")[1]


def test_sources_are_translated(others) -> None:
    server, models = others
    found = server.post("/v1/foreword/translate", model="transformer", text=["The class", "A"], max_tokens=6)["texts"]
    assert found == models["transformer"].translate(["The class", "A"], max_tokens=6)


def test_vectors_have_neighbours(others) -> None:
    server, models = others
    found = server.post("/v1/foreword/neighbours", model="vectors", word="word3", k=4)["neighbours"]
    assert [(one["word"], one["cosine"]) for one in found] == models["vectors"].neighbours("word3", 4)
    (cosine,) = server.post("/v1/foreword/similarity", model="vectors", pairs=[["word1", "word2"]])["cosines"]
    assert cosine == pytest.approx(models["vectors"].similarity("word1", "word2"))
    same, apart = server.post("/v1/foreword/similarity", model="bert", pairs=[["a", "a"], ["a", "the class"]])[
        "cosines"
    ]
    assert same == pytest.approx(1, abs=1e-5)
    assert apart < 0.999


def test_a_dialogue_goes_on(others) -> None:
    server, _ = others
    said = [{"role": "user", "content": "what is class?"}]
    body = {"model": "chat", "messages": said, "seed": 4, "max_tokens": 8, "logprobs": True, "top_logprobs": 2}
    (whole,) = server.post("/v1/chat/completions", **body)["choices"]
    pieces = [one["choices"][0] for one in server.events("/v1/chat/completions", **body)]
    assert "".join(one["delta"].get("content", "") for one in pieces).strip() == whole["message"]["content"]
    assert pieces[-1]["finish_reason"] == whole["finish_reason"]
    assert len(whole["logprobs"]["content"][0]["top_logprobs"]) == 2
    status, message = server.refused(
        "/v1/chat/completions", model="chat", messages=[{"role": "system", "content": "x"}]
    )
    assert (status, "no instructions" in message) == (400, True)
    assert server.refused("/v1/chat/completions", model="back", messages=said)[0] == 400


def test_candidates_are_ranked_by_the_backward_model(others) -> None:
    server, _ = others
    body = {"model": "chat", "turns": ["what is class?"], "n": 6, "max_tokens": 8, "seed": 1}
    ranked = server.post("/v1/foreword/candidates", **body, backward="back")["candidates"]
    plain = server.post("/v1/foreword/candidates", **body)["candidates"]
    assert [one["score"] for one in ranked] == sorted((one["backward"] for one in ranked), reverse=True)
    assert {one["text"] for one in ranked} == {one["text"] for one in plain}
    assert all(one["backward"] is None for one in plain)


@pytest.mark.parametrize(
    ("route", "body", "message"),
    [
        ("fill", {"model": "chat", "text": "x"}, "chat cannot fill"),
        ("classify", {"model": "bert", "texts": ["x"]}, "bert cannot classify"),
        ("neighbours", {"model": "vectors", "word": "nowhere"}, "no vector for 'nowhere'"),
        ("score", {"model": "vectors", "text": "x"}, "vectors cannot score"),
        ("mix", {"models": {"chat": 0}}, "above 0"),
        ("candidates", {"model": "chat", "turns": ["x"], "backward": "chat"}, "chat cannot rank"),
    ],
)
def test_what_a_model_cannot_is_said(others, route, body, message) -> None:
    status, said = others[0].refused(f"/v1/foreword/{route}", **body)
    assert status == 400
    assert message in said
