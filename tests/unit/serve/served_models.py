"""Tiny models behind a server in this process."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2 as httpx

from foreword.model import LoadedModel
from foreword.serve.app import Application, Limits, Server
from foreword.serve.models import Served
from foreword.tokens.store import TokenStore
from tests.tiny import counted, drawn, tiny


def loaded(name: str, store: TokenStore, held_out: TokenStore) -> LoadedModel:
    """A model as `foreword.load` gives it: random weights, or counts of the store."""
    recipe = tiny(name)
    model = counted(recipe, store, held_out) if recipe.head is None else drawn(recipe, store.tokenizer)
    return LoadedModel(name, recipe, model, store.tokenizer)


class RunningServer:
    """A server in a thread, and clients of it."""

    def __init__(self, application: Application, server: Server, url: str):
        self.application, self.server, self.url = application, server, url
        self.client = httpx.Client(base_url=url, timeout=600)

    def post(self, path: str, **body: Any) -> Any:
        """The answer; a failure is shown with what was said."""
        found = self.client.post(path, json=body)
        assert found.status_code == 200, found.text
        return found.json()

    def refused(self, path: str, **body: Any) -> tuple[int, str]:
        found = self.client.post(path, json=body)
        return found.status_code, found.json()["error"]["message"]

    def events(self, path: str, **body: Any) -> list[Any]:
        """The pieces of a streamed answer."""
        with self.client.stream("POST", path, json={**body, "stream": True}) as answer:
            assert answer.status_code == 200, answer.read()
            lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
        assert lines[-1] == "[DONE]"
        return [json.loads(line) for line in lines[:-1]]

    def workers(self) -> Sequence[Any]:
        return [one.worker for one in self.application.served.models.values()]

    def settle(self) -> None:
        """Until nothing is asked any more."""
        until = time.monotonic() + 120
        while self.application.served.busy:
            assert time.monotonic() < until, [(one.label, one.waiting, one.busy) for one in self.workers()]
            time.sleep(0.01)


@contextmanager
def running(models: dict[str, Any], most_waiting: int = 1000, **limits: Any) -> Iterator[RunningServer]:
    application = Application(Served(models, most_waiting), Limits(**limits))
    server = Server(application, grace=5, host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < until
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    found = RunningServer(application, server, f"http://127.0.0.1:{port}")
    try:
        yield found
    finally:
        found.client.close()
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
        assert not any(one.is_alive() for one in found.workers())
