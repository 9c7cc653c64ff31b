"""OpenAI's routes: what is asked, what is answered, and what is refused."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from tests.unit.serve.served_models import running


def test_models_are_listed_with_their_abilities(server) -> None:
    listed = server.client.get("/v1/models").json()["data"]
    assert {one["id"]: one["abilities"] for one in listed} == {
        "gpt2": ["score", "generate", "embed", "logits"],
        "lstm": ["score", "generate", "embed", "logits"],
        "kneser-ney": ["score", "generate"],
    }
    assert server.client.get("/v1/models/gpt2").json()["context"] == 32
    assert server.client.get("/v1/models/gpt3").status_code == 404


def test_a_stream_is_the_answer_in_pieces(server, name) -> None:
    body = {
        "model": name,
        "prompt": ["The class", "A"],
        "max_tokens": 9,
        "seed": 3,
        "n": 2,
        "logprobs": 1,
        "echo": True,
    }
    whole = server.post("/v1/completions", **body)
    pieces = server.events("/v1/completions", **body, stream_options={"include_usage": True})
    assert pieces[-1]["usage"] == whole["usage"]
    for one in whole["choices"]:
        mine = [piece["choices"][0] for piece in pieces[:-1] if piece["choices"][0]["index"] == one["index"]]
        assert "".join(piece["text"] for piece in mine) == one["text"]
        for key in ("tokens", "text_offset", "token_logprobs"):
            told = [value for piece in mine for value in piece["logprobs"][key]]
            assert told == (pytest.approx(one["logprobs"][key], abs=1e-5) if "log" in key else one["logprobs"][key])
        assert [piece["finish_reason"] for piece in mine][-1] == one["finish_reason"]


def test_an_echo_scores_the_prompt(server, models, name) -> None:
    """What lm-evaluation-harness asks: the same numbers as `score`, and whether each token was the likeliest."""
    model = models[name]
    ids = model.tokenizer.encode("The class definition")
    (choice,) = server.post("/v1/completions", model=name, prompt=ids, max_tokens=1, logprobs=1, echo=True, seed=1)[
        "choices"
    ]
    logs = choice["logprobs"]["token_logprobs"]
    assert logs[0] is None
    assert len(logs) == len(choice["logprobs"]["top_logprobs"]) == len(ids) + 1
    assert logs[1 : len(ids)] == model.language_model.score([np.array(ids)], [1])[0].tolist()
    greedy = model.language_model.begin([np.array(ids)])[0][0]
    follow = [*ids, int(np.asarray(greedy).argmax())]
    (choice,) = server.post("/v1/completions", model=name, prompt=follow, max_tokens=1, logprobs=1, echo=True)[
        "choices"
    ]
    assert choice["logprobs"]["token_logprobs"][len(ids)] == max(choice["logprobs"]["top_logprobs"][len(ids)].values())


def test_stop_bias_and_best_of(server, name) -> None:
    stopped = server.post("/v1/completions", model=name, prompt="The", max_tokens=200, seed=1, stop="e")["choices"][0]
    assert stopped["finish_reason"] == "stop"
    assert "e" not in stopped["text"]
    biased = server.post("/v1/completions", model=name, prompt="The", max_tokens=3, logit_bias={"70": 100}, logprobs=0)
    assert len(set(biased["choices"][0]["logprobs"]["tokens"])) == 1
    drawn = server.post("/v1/completions", model=name, prompt="The", max_tokens=4, n=4, seed=5, logprobs=0)["choices"]
    (best,) = server.post("/v1/completions", model=name, prompt="The", max_tokens=4, best_of=4, seed=5, logprobs=0)[
        "choices"
    ]
    means = [np.mean(one["logprobs"]["token_logprobs"]) for one in drawn]
    assert best["text"] == drawn[int(np.argmax(means))]["text"]


def test_embeddings_as_numbers_and_as_bytes(server, models) -> None:
    texts = ["a sentence", "another"]
    rows = server.post("/v1/embeddings", model="gpt2", input=texts)["data"]
    coded = server.post("/v1/embeddings", model="gpt2", input=texts, encoding_format="base64")["data"]
    expected = models["gpt2"].embed(texts)
    for row, code, vector in zip(rows, coded, expected, strict=True):
        assert row["embedding"] == pytest.approx(vector.tolist(), abs=1e-6)
        assert np.frombuffer(base64.b64decode(code["embedding"]), "<f4") == pytest.approx(vector, abs=1e-6)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("completions", {"model": "gpt22"}, 404, "no model is called 'gpt22' here. Did you mean gpt2?"),
        ("completions", {"model": "gpt2", "prompt": 5}, 400, "prompt"),
        ("completions", {"model": "gpt2", "temperature": -1}, 400, "temperature: Input should be greater than"),
        ("completions", {"model": "gpt2", "temprature": 1}, 400, "temprature: Extra inputs are not permitted"),
        ("completions", {"model": "gpt2", "prompt": [1] * 33}, 400, "reads at most 32 tokens; the prompt has 33"),
        ("completions", {"model": "gpt2", "prompt": [9999]}, 400, "gpt2 has tokens 0 to 511, not 9999"),
        ("completions", {"model": "gpt2", "max_tokens": 9999}, 400, "writes at most 4096 at once"),
        ("completions", {"model": "gpt2", "logit_bias": {"x": 1}}, 400, "logit_bias"),
        ("completions", {"model": "gpt2", "n": 100, "prompt": ["a", "b"]}, 400, "at most 128 texts"),
        (
            "chat/completions",
            {"model": "gpt2", "messages": [{"role": "user", "content": "x"}]},
            400,
            "not trained on dialogues",
        ),
        ("embeddings", {"model": "kneser-ney", "input": "x"}, 400, "cannot embed; it can score, generate"),
        ("embeddings", {"model": "gpt2", "input": ""}, 400, "a text without tokens"),
    ],
)
def test_what_cannot_be_done_is_said(server, path, body, status, message) -> None:
    found, said = server.refused(f"/v1/{path}", **body)
    assert found == status
    assert message in said


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"model": NaN}',
        b'{"model": "gpt2", "n": ' + b"9" * 5000 + b"}",
        b'"\\ud800"',
    ],
    ids=["empty", "cut", "no UTF-8", "deep", "NaN", "a huge number", "half a character"],
)
def test_what_is_no_request_is_refused(server, body) -> None:
    found = server.client.post("/v1/completions", content=body, headers={"content-type": "application/json"})
    assert found.status_code == 400
    assert found.json()["error"]["type"] == "invalid_request_error"


def test_a_key_and_a_size_are_asked_for(models) -> None:
    with running({"kneser-ney": models["kneser-ney"]}, api_key="secret", most_bytes=2000) as server:
        get, post = server.client.get, server.client.post
        assert get("/health").status_code == get("/ready").status_code == 200
        for key in ("", "Bearer wrong", "Basic secret", "Bearer secre", "Bearer \xe9".encode("latin1")):
            found = get("/v1/models", headers={"authorization": key})
            assert found.status_code == 401
            assert found.json()["error"]["code"] == "invalid_api_key"
        server.client.headers["authorization"] = "Bearer secret"
        assert get("/v1/models").status_code == 200
        large = {"model": "kneser-ney", "prompt": "x" * 3000}
        assert post("/v1/completions", json=large).status_code == 413
        pieces = (b" " * 1000 for _ in range(5))  # without saying how long it is
        assert post("/v1/completions", content=pieces).status_code == 413
        text = get("/metrics").text
        assert 'foreword_requests_total{path="other",status="401"} 5.0' in text


def test_a_failing_model_leaves_no_trace_and_goes_on(models, monkeypatch, capsys) -> None:
    model = models["kneser-ney"]
    with running({"kneser-ney": model}) as server:
        body = {"model": "kneser-ney", "prompt": "The", "max_tokens": 3}
        with monkeypatch.context() as patch:
            patch.setattr(model.language_model, "advance", lambda *given: 1 / 0)
            assert server.refused("/v1/completions", **body) == (500, "the server failed; its log says why.")
            assert "error" in server.events("/v1/completions", **body)[-1]
        assert server.post("/v1/completions", **body)["usage"]["completion_tokens"] == 3
    assert "ZeroDivisionError" in capsys.readouterr().err
