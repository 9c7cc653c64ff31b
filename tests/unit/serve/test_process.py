"""The program itself: it starts, answers, drains when it is told to stop, and says what is missing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx2 as httpx
import pytest

from foreword.runs.train import train
from tests.tiny import tiny

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def runs(stores, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(tiny("gpt2", 'training.budget="2"'), stores["byte_bpe"], folder / "gpt2")
    train(tiny("kneser-ney"), stores["byte_bpe"], folder / "kneser-ney")
    return folder


@contextmanager
def serving(*words):
    """`foreword serve` as a process, and its address."""
    command = [sys.executable, "-m", "foreword", "serve", *map(str, words), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if line.startswith("serving "):
            break
    assert "http://" in said, said
    rest: list[str] = []
    reading = threading.Thread(target=lambda: rest.extend(process.stderr or ()))
    reading.start()
    try:
        yield process, said.split("on http://")[1].split()[0], rest
    finally:
        process.kill()
        process.wait()
        reading.join()


def test_told_to_stop_it_finishes_what_has_begun(runs) -> None:
    """Streams go on to their end, what is new gets a 503, and the program ends with 0."""
    with serving(runs / "gpt2", f"kn={runs / 'kneser-ney'}", "--grace", "120") as (process, address, rest):
        url = f"http://{address}"
        with httpx.Client(base_url=url, timeout=300) as client:
            assert [one["id"] for one in client.get("/v1/models").json()["data"]] == ["gpt2", "kn"]
            body = {
                "model": "gpt2",
                "prompt": "The",
                "max_tokens": 4000,
                "n": 4,
                "stream": True,
                "min_tokens": 4000,
            }  # more than fits a socket
            with client.stream("POST", "/v1/completions", json=body) as answer:
                lines = answer.iter_lines()
                next(lines)
                process.send_signal(signal.SIGTERM)
                until = time.monotonic() + 60
                with httpx.Client(base_url=url, timeout=60) as other:
                    while (status := other.post("/v1/completions", json={**body, "stream": False}).status_code) != 503:
                        assert time.monotonic() < until, status
                    assert other.get("/ready").status_code == 503
                    assert other.get("/health").status_code == 200
                pieces = [line.removeprefix("data: ") for line in lines if line]
        assert pieces[-1] == "[DONE]"
        reasons = [json.loads(piece)["choices"][0]["finish_reason"] for piece in pieces[:-1]]
        assert reasons.count("length") == 4
        assert process.wait(60) == 0
    assert rest == []


def test_after_the_grace_it_ends_all_the_same(runs) -> None:
    with serving(runs / "gpt2", "--grace", "0.5") as (process, address, _):
        body = {"model": "gpt2", "prompt": "The", "max_tokens": 4000, "n": 32, "stream": True, "min_tokens": 4000}
        with httpx.Client(timeout=300) as client:
            with client.stream("POST", f"http://{address}/v1/completions", json=body) as answer:
                lines = answer.iter_lines()
                next(lines)
                process.send_signal(signal.SIGTERM)
                pieces = [line.removeprefix("data: ") for line in lines if line]
        assert json.loads(pieces[-2])["error"]["message"] == "the server is stopping."
        assert pieces[-1] == "[DONE]"
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is nothing to serve."),
        (["runs/nowhere"], "runs/nowhere is not there."),
        (["--demo"], "there is no demo in runs/demo."),
    ],
)
def test_what_cannot_be_served_is_said(tmp_path, words, message) -> None:
    command = [sys.executable, "-m", "foreword", "serve", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_a_missing_package_is_named_with_what_brings_it(runs) -> None:
    code = (
        "import sys; sys.modules['fastapi'] = None\n"
        f"from foreword.cli.main import main; sys.argv = ['foreword', 'serve', {str(runs / 'gpt2')!r}]; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "pip install 'foreword[serve]'" in ended.stderr
