"""Many clients, vanishing clients, and requests that nobody would write."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import random
import socket
import threading
import time
from typing import Any

import httpx2 as httpx
import psutil
import pytest

from foreword.basics.seeds import chance
from tests.unit.serve.served_models import running

pytestmark = pytest.mark.thorough


def tasks(server) -> int:
    """Tasks of the server's event loop, all of which belong to requests but a few of its own."""
    loop = server.application.served.models["gpt2"].worker._loop
    return len(asyncio.all_tasks(loop))


@pytest.mark.parametrize(("vanishing", "clients"), [("leaves", 200), ("reads nothing", 40)])
def test_who_vanishes_leaves_nothing_behind(server, monkeypatch, vanishing, clients) -> None:
    """Many clients of a stream: no thread, no task, no row of a batch is left."""
    monkeypatch.setattr("foreword.serve.stream.SLOWEST", 1.0)
    server.settle()
    threads, running_tasks = threading.active_count(), tasks(server)
    host, port = server.url.removeprefix("http://").split(":")
    body = json.dumps(
        {"model": "gpt2", "prompt": "The", "max_tokens": 2000, "stream": True, "logprobs": 20, "min_tokens": 2000}
    )
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    sockets = []
    for _ in range(clients):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect((host, int(port)))
        one.sendall((head + body).encode())
        sockets.append(one)
    worker = server.application.served.models["gpt2"].worker
    until = time.monotonic() + 300
    while worker.busy < 32:
        assert time.monotonic() < until
        time.sleep(0.05)
    if vanishing == "leaves":
        for one in sockets:
            one.close()
    while worker.busy or tasks(server) > running_tasks + (0 if vanishing == "leaves" else clients):
        assert time.monotonic() < until, (worker.busy, tasks(server))
        time.sleep(0.1)
    for one in sockets:
        one.close()
    while tasks(server) > running_tasks:
        assert time.monotonic() < until, tasks(server)
        time.sleep(0.1)
    assert threading.active_count() <= threads
    assert worker.batch is not None
    assert worker.batch.running == []
    assert server.application.state.requests == 0


def test_a_thousand_at_once_are_all_answered(models) -> None:
    """Each with a text or a 429, in bounded memory."""

    async def flood(url: str) -> list[int]:
        limits = httpx.Limits(max_connections=1000)
        async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
            body = {"model": "gpt2", "prompt": "The", "max_tokens": 20}
            found = await asyncio.gather(*(client.post("/v1/completions", json=body) for _ in range(1000)))
        return [one.status_code for one in found]

    with running({"gpt2": models["gpt2"]}, most_waiting=64) as server:
        asyncio.run(flood(server.url))  # the clients are in this process, too: their memory is not what is asked about
        gc.collect()
        before = psutil.Process().memory_info().rss
        statuses = asyncio.run(flood(server.url))
        grown = (psutil.Process().memory_info().rss - before) / 2**20
        server.settle()
    print(f"{statuses.count(200)} answered, {statuses.count(429)} turned away; {grown:.0f} MB more")
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 64
    assert grown < 200


# --------------------------------------------------------------------------------------------- what nobody would write

ODD = [
    None,
    True,
    -1,
    0,
    1e308,
    -5e-324,
    2**70,
    "",
    "x" * 5000,
    "\x00",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    math.nan,
    math.inf,
]


def odd(draw: random.Random, schema: dict[str, Any], known: dict[str, Any], depth: int = 0) -> Any:
    """A value after a schema of the OpenAPI document, or now and then something else."""
    if draw.random() < 0.15 or depth > 4:
        return draw.choice(ODD)
    if "$ref" in schema:
        return odd(draw, known[schema["$ref"].rsplit("/", 1)[1]], known, depth)
    if "anyOf" in schema:
        return odd(draw, draw.choice(schema["anyOf"]), known, depth)
    if "const" in schema or "enum" in schema:
        return draw.choice(schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "object":
            names = {name for name in schema.get("properties", {}) if draw.random() < 0.5} | set(
                schema.get("required", ())
            )
            found = {
                name: odd(draw, one, known, depth + 1)
                for name, one in schema.get("properties", {}).items()
                if name in names
            }
            if isinstance(more := schema.get("additionalProperties"), dict):
                found |= {draw.choice(["gpt2", "lstm", "5", "x"]): odd(draw, more, known, depth + 1)}
            return found
        case "array":
            size = draw.randint(schema.get("minItems", 0), 4)
            return [odd(draw, schema.get("items", {}), known, depth + 1) for _ in range(size)]
        case "integer":
            low = schema.get("minimum", schema.get("exclusiveMinimum", -5))
            return draw.choice([low, low - 1, draw.randint(int(low), int(low) + 30), schema.get("maximum", 9)])
        case "number":
            return draw.choice(
                [draw.random(), schema.get("minimum", -1), schema.get("maximum", 7), draw.uniform(-3, 3)]
            )
        case "boolean":
            return draw.random() < 0.5
        case "string":
            return draw.choice(["The", "a class", "", "[MASK]", "今天", "what is this? " * 9])
        case _:
            return None


def test_two_thousand_odd_requests_break_nothing(server) -> None:
    """After every schema of the OpenAPI document, and against it: no answer says that the server failed."""
    document = server.client.get("/openapi.json").json()
    known = document["components"]["schemas"]
    posts = [(path, one["post"]) for path, one in document["paths"].items() if "post" in one]
    assert len(posts) >= 14
    statuses: dict[int, int] = {}
    for number in range(2000):
        draw = random.Random(int(chance(17, number).integers(1 << 40)))
        path, operation = draw.choice(posts)
        body = odd(draw, operation["requestBody"]["content"]["application/json"]["schema"], known)
        if isinstance(body, dict):
            if draw.random() < 0.9 and "model" in body:
                body["model"] = draw.choice(["gpt2", "lstm", "kneser-ney"])
            for name in ("max_tokens", "max_completion_tokens", "min_tokens"):  # what is right may be long
                if isinstance(body.get(name), int) and body[name] > 30:
                    body[name] = 30
            if isinstance(body.get("n"), int) and body["n"] > 4:
                body["n"] = 4
        content = json.dumps(body).encode()
        if draw.random() < 0.05:
            content = bytes(draw.randrange(256) for _ in range(draw.randrange(40)))
        found = server.client.post(path, content=content, headers={"content-type": "application/json"})
        statuses[found.status_code] = statuses.get(found.status_code, 0) + 1
        assert found.status_code < 500, (path, body, found.text)
        if found.status_code != 200:
            assert found.json()["error"]["message"]
    assert statuses[200] > 50, statuses
    assert statuses[400] > 500, statuses
    server.settle()


def test_what_the_document_says_is_what_is_answered(server) -> None:
    """schemathesis reads the document and asks what it allows, and what it does not."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    for operation in schema.get_all_operations():

        @settings(
            max_examples=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
            derandomize=True,
        )
        @given(case=operation.ok().as_strategy())
        def check(case) -> None:
            answer = case.call()
            assert answer.status_code < 500, (case.path, case.body, answer.text)

        check()
