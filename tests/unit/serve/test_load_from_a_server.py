"""A model of a server is used like one that was loaded: the same numbers, the same texts."""

from __future__ import annotations

import numpy as np
import pytest

import foreword
from foreword.basics.messages import Fault
from foreword.generate.batch import generate
from foreword.generate.sample import Sampling
from tests.unit.serve.served_models import running

TEXT = "The class definition 今天 and a module. " * 6


@pytest.fixture
def far(server, name):
    return foreword.load(server.url, model=name)


def test_it_scores_as_the_model_does(far, models, name) -> None:
    mine, expected = far.score([TEXT, "A"]), models[name].score([TEXT, "A"])
    for one, other in zip(mine, expected, strict=True):
        assert one.bits_per_byte == pytest.approx(other.bits_per_byte, abs=1e-5)
        assert one.policy == other.policy
    assert far.abilities == [one for one in models[name].abilities if one != "logits"]


def test_it_writes_as_the_model_does(far, models, name) -> None:
    settings = {"max_tokens": 40, "seed": 3, "top_k": 50}
    told: list[tuple[int, str]] = []
    mine = far.continuations(["The", "A class"], n=2, stream=lambda *new: told.append(new), **settings)
    expected = models[name].continuations(["The", "A class"], n=2, **settings)
    for row, (one, other) in enumerate(zip(mine, expected, strict=True)):
        assert (one.ids, one.text, one.reason) == (other.ids, other.text, other.reason)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)
        assert "".join(text for place, text in told if place == row) == one.text


def test_it_is_a_language_model_token_by_token(far, models, name) -> None:
    """As `chat` and tasks ask it; the tiny GPT-2 has to start anew on the way."""
    sampling, prompts = Sampling(max_tokens=40, seed=1), [[70, 80, 90], [75]]
    mine = generate(far.language_model, far.tokenizer, prompts, sampling)
    expected = generate(models[name].language_model, far.tokenizer, prompts, sampling)
    assert [one.ids for one in mine] == [one.ids for one in expected]


def test_vectors_are_the_same(server, models) -> None:
    far = foreword.load(f"{server.url}/gpt2")
    texts = ["a sentence", "another"]
    assert np.allclose(far.embed(texts), models["gpt2"].embed(texts), atol=1e-6)
    assert np.allclose(far.embed(texts, pool="last"), models["gpt2"].embed(texts, pool="last"), atol=1e-6)


def test_what_is_wrong_is_said(server, models, monkeypatch) -> None:
    with pytest.raises(Fault, match=r"serves gpt2, lstm, kneser-ney"):
        foreword.load(server.url)
    with pytest.raises(Fault, match="no model is called 'gpt3' here"):
        foreword.load(server.url, model="gpt3")
    with pytest.raises(Fault, match="nobody answers"):
        foreword.load("http://127.0.0.1:9", model="gpt2")
    with running({"kneser-ney": models["kneser-ney"]}, api_key="secret") as locked:
        with pytest.raises(Fault, match="FOREWORD_API_KEY"):
            foreword.load(locked.url)
        monkeypatch.setenv("FOREWORD_API_KEY", "secret")
        assert foreword.load(locked.url).score("The").tokens
