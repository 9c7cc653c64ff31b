"""`make bench ARGS=serve`: tokens a second through the server, one stream and several, beside the decoder alone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generate import CONTEXT, NEW, PROMPT, prompts, tokenizer_of
from benchmarks.shapes import model_of, recipe_for, shape_called
from foreword.basics.progress import say
from foreword.exchange import hugging_face
from foreword.generate.batch import generate
from foreword.generate.sample import Sampling
from foreword.model import load

STREAMS = (1, 8, 32)


def measure(names: Sequence[str] = ("10m", "124m"), rounds: int = 2) -> list[dict[str, Any]]:
    """For each shape and number of streams: the decoder alone, all streams at once, and the same one by one."""
    found = []
    for name in names:
        shape = shape_called(name)
        say(f"bench serve, {shape.recipe} {shape.layers} x {shape.width}, {PROMPT} + {NEW} tokens")
        with tempfile.TemporaryDirectory() as folder:
            tokenizer = tokenizer_of(shape.vocabulary)
            hugging_face.write(
                Path(folder) / name, recipe_for(shape, CONTEXT), model_of(shape, CONTEXT).eval(), tokenizer
            )
            opened = load(Path(folder) / name)
            how = Sampling(max_tokens=NEW, min_tokens=NEW, temperature=0.0)
            with serving(Path(folder) / name) as port:
                for streams in STREAMS:
                    asked = prompts(shape, streams)
                    runs = []
                    for _ in range(rounds + 1):  # the first warms up
                        began = time.perf_counter()
                        generate(opened.language_model, tokenizer, asked, how)
                        alone = streams * NEW / (time.perf_counter() - began)
                        runs.append({"alone": alone, **asyncio.run(together(port, name, asked))})
                    best = max(runs[1:], key=lambda one: one["rate"])
                    best["alone"] = max(one["alone"] for one in runs[1:])
                    best["singly"] = asyncio.run(one_by_one(port, name, asked[:8])) if streams > 1 else best["rate"]
                    found.append({"shape": name, "streams": streams, **best})
    return found


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """`foreword serve` as a process of its own; its port."""
    command = [sys.executable, "-m", "foreword", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = next((line for line in process.stderr if line.startswith("serving ")), "")
    try:
        yield int(line.split()[-4].rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.wait()


async def stream(port: int, model: str, prompt: Sequence[int]) -> list[float]:
    """When each token came, from the request on."""
    settings = {"max_tokens": NEW, "min_tokens": NEW, "temperature": 0, "stream": True, "logprobs": 0}
    body = json.dumps({"model": model, "prompt": list(prompt), **settings})
    head = (
        f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    began, times = time.perf_counter(), []
    writer.write(f"{head}\r\n{body}".encode())
    while not (line := await reader.readline()).startswith(b"data: [DONE]"):
        if not line:
            raise RuntimeError("the server broke off")
        if line.startswith(b"data: "):
            times.append(time.perf_counter() - began)
    writer.close()
    return times


async def together(port: int, model: str, asked: Sequence[Sequence[int]]) -> dict[str, float]:
    began = time.perf_counter()
    times = await asyncio.gather(*(stream(port, model, one) for one in asked))
    rate = sum(map(len, times)) / (time.perf_counter() - began)
    first, gaps = [one[0] for one in times], np.concatenate([np.diff(one) for one in times])
    shares = {
        f"{name} p{p}": 1000 * float(np.percentile(some, p))
        for name, some in (("first", first), ("gap", gaps))
        for p in (50, 99)
    }
    return {"rate": rate, **shares}


async def one_by_one(port: int, model: str, asked: Sequence[Sequence[int]]) -> float:
    began = time.perf_counter()
    tokens = sum([len(await stream(port, model, one)) for one in asked])
    return tokens / (time.perf_counter() - began)


def lines(found: Sequence[dict[str, Any]]) -> list[str]:
    """A table: tokens a second in all, the decoder alone beside it, and milliseconds of waiting."""
    head = f"{'shape':>6} {'streams':>7} {'tokens/s':>9} {'decoder':>8} {'share':>6} {'singly':>7} {'gain':>5}"
    rows = [f"{head}   first token ms p50 p99   gap ms p50 p99"]
    for one in found:
        speed = f"{one['shape']:>6} {one['streams']:>7} {one['rate']:9.0f} {one['alone']:8.0f}"
        row = f"{speed} {1 - one['rate'] / one['alone']:6.0%} {one['singly']:7.0f} {one['rate'] / one['singly']:5.1f}"
        waits = f"{one['first p50']:14.0f} {one['first p99']:9.0f} {one['gap p50']:9.1f} {one['gap p99']:7.1f}"
        rows.append(f"{row}   {waits}")
    return rows


def report() -> str:
    return "\n".join(lines(measure()))
