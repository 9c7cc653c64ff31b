"""What is written for a request does not depend on what else is asked."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
import pytest

from foreword.basics.seeds import chance
from tests.unit.serve.served_models import running


def requests(name: str, number: int) -> list[dict]:
    """Prompts of mixed length, some at temperature 0, some drawn with a seed."""
    found = []
    for i in range(number):
        draw = chance(5, i)
        found.append(
            {
                "model": name,
                "prompt": [int(one) for one in draw.integers(10, 500, size=draw.integers(1, 30))],
                "max_tokens": int(draw.integers(1, 40)),
                "temperature": 0.0 if i % 3 == 0 else 1.0,
                "top_p": 0.9 if i % 2 else 1.0,
                "seed": i,
                "logprobs": 2,
                "n": 1 + i % 2,
            }
        )
    return found


def compare(alone: dict, together: dict) -> None:
    for one, other in zip(alone["choices"], together["choices"], strict=True):
        assert one["logprobs"]["tokens"] == other["logprobs"]["tokens"]
        assert one["text"] == other["text"]
        assert one["finish_reason"] == other["finish_reason"]
        assert other["logprobs"]["token_logprobs"] == pytest.approx(one["logprobs"]["token_logprobs"], abs=1e-5)


async def _together(url: str, asked: list[dict], leavers: int) -> list[dict]:
    """All at once, and beside them some that leave in the middle."""

    async def leave(client: httpx.AsyncClient, number: int) -> None:
        body = {**asked[number], "max_tokens": 400, "stream": True}
        async with client.stream("POST", "/v1/completions", json=body) as answer:
            async for _ in answer.aiter_lines():
                return

    async with httpx.AsyncClient(base_url=url, timeout=600, limits=httpx.Limits(max_connections=100)) as client:
        gone = [leave(client, number) for number in range(leavers)]
        found = await asyncio.gather(*(client.post("/v1/completions", json=one) for one in asked), *gone)
    return [one.json() for one in found[: len(asked)]]


def check_same(server, name: str, number: int) -> None:
    asked = requests(name, number)
    alone = [server.post("/v1/completions", **one) for one in asked]
    together = asyncio.run(_together(server.url, asked, number // 5))
    for one, other in zip(alone, together, strict=True):
        compare(one, other)
    server.settle()


def test_an_answer_is_the_same_whatever_runs_beside_it(server, name) -> None:
    check_same(server, name, 10)


@pytest.mark.thorough
def test_fifty_requests_are_the_same_alone_and_all_at_once(server, name) -> None:
    check_same(server, name, 50)


def test_another_seed_gives_another_text(server) -> None:
    """The control: the texts above are equal since they are the same, not since all are."""
    one, other = (
        server.post("/v1/completions", model="gpt2", prompt="The", max_tokens=20, seed=seed)["choices"][0]["text"]
        for seed in (1, 2)
    )
    assert one != other


def test_the_server_writes_what_the_model_writes(server, models, name) -> None:
    settings = {"max_tokens": 12, "seed": 7, "top_p": 0.8}
    answer = server.post("/v1/completions", model=name, prompt="The class", n=3, logprobs=0, **settings)
    expected = models[name].continuations("The class", n=3, **settings)
    assert [one["text"] for one in answer["choices"]] == [one.text for one in expected]
    for one, other in zip(answer["choices"], expected):
        assert one["logprobs"]["token_logprobs"] == pytest.approx(other.log_probs, abs=1e-5)


def test_who_leaves_makes_room(server) -> None:
    """Texts of a client that is gone are taken out of the batch: the model has nothing to do long before they would end."""
    body = {"model": "gpt2", "prompt": "The", "max_tokens": 4000, "n": 8, "stream": True, "logit_bias": {"0": -100}}
    end = server.application.served.models["gpt2"].tokenizer.special("[end]")
    body["logit_bias"] = {str(end): -100}
    with server.client.stream("POST", "/v1/completions", json=body) as answer:
        next(answer.iter_lines())
        assert server.application.served.models["gpt2"].worker.busy == 8
    server.settle()
    total = server.application.served.metrics.registry.get_sample_value("foreword_tokens_total", {"model": "gpt2"})
    assert total < 8 * 4000


def test_more_than_may_wait_is_turned_away(models) -> None:
    with running({"kneser-ney": models["kneser-ney"]}, most_waiting=2) as server:
        (worker,), blocked = server.workers(), threading.Event()
        body = {"model": "kneser-ney", "prompt": "The", "max_tokens": 2}
        worker.run_job(blocked.wait)
        while worker.waiting:  # until it is at the job, which waits like a request
            time.sleep(0.01)
        with ThreadPoolExecutor(2) as pool:
            some = [pool.submit(server.post, "/v1/completions", **body) for _ in range(2)]
            while worker.waiting < 2:
                time.sleep(0.01)
            try:
                refused = server.client.post("/v1/completions", json=body, timeout=20)
            finally:
                blocked.set()
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert "2 requests are waiting" in refused.json()["error"]["message"]
            assert all(one.result()["choices"][0]["text"] for one in some)  # those who waited are served
