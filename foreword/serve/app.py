"""The application: routes behind a guard, and the life of a server from its first request to its last."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp

from foreword.basics.files import JsonObject
from foreword.basics.progress import say
from foreword.basics.version import VERSION
from foreword.serve import errors, foreword_routes, openai_routes, page_routes
from foreword.serve.guard import Guard, ServerState
from foreword.serve.models import Served


@dataclass(frozen=True)
class Limits:
    """What a server lets itself be asked."""

    api_key: str = ""
    most_bytes: int = 4 << 20  # of a request
    seconds: float = 300.0  # that an answer may take


class Application:
    """The ASGI application of some models."""

    def __init__(self, served: Served, limits: Limits):
        self.served, self.limits, self.state = served, limits, ServerState(limits.api_key)
        self.api = FastAPI(title="Foreword", version=VERSION, lifespan=self._life, redoc_url=None, docs_url=None)
        errors.install(self.api)
        self.api.include_router(openai_routes.router(served, limits.seconds))
        self.api.include_router(foreword_routes.router(served, limits.seconds))
        self.api.include_router(page_routes.router())
        self._add_state()
        self.asgi: ASGIApp = Guard(self.api, self.state, served.metrics, limits.most_bytes)

    @contextlib.asynccontextmanager
    async def _life(self, app: FastAPI) -> AsyncIterator[None]:
        self.begin()
        yield
        await self.end()

    def begin(self) -> None:
        for one in self.served.models.values():
            one.worker.begin(asyncio.get_running_loop())

    async def end(self) -> None:
        """The threads end before the loop does."""
        for one in self.served.models.values():
            one.worker.close()
        for one in self.served.models.values():
            await asyncio.to_thread(one.worker.join, 10)

    def _add_state(self) -> None:
        @self.api.get("/health")
        async def health() -> JsonObject:
            """The process lives."""
            return {"status": "ok"}

        @self.api.get("/ready", response_model=None)
        async def ready() -> Response:
            """Whether it takes requests."""
            if self.state.draining:
                return errors.answer(503, "the server is stopping.")
            return Response('{"status": "ready"}', media_type="application/json")

        @self.api.get("/metrics", response_model=None)
        async def metrics() -> Response:
            return Response(self.served.metrics.text(), media_type="text/plain; version=0.0.4")


class Server(uvicorn.Server):
    """Told to stop, it finishes what it has begun, as long as the grace lasts, and meanwhile says no to what is new."""

    def __init__(self, application: Application, grace: float, **settings: Any):
        super().__init__(
            uvicorn.Config(
                application.asgi,
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=5,
                lifespan="on",
                server_header=False,
                **settings,
            )
        )
        self.application, self.grace = application, grace
        self.latest: float | None = None  # when it ends whatever is unfinished

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal again at the end; to be told to stop is no failure."""
        if threading.current_thread() is not threading.main_thread():  # only the main one hears of signals
            yield
            return
        kept = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in kept.items():
                signal.signal(one, handler)

    def _log_started_message(self, listeners: Sequence[socket.SocketType]) -> None:
        host, port = listeners[0].getsockname()[:2]
        names = ", ".join(self.application.served.models)
        say(f"serving {names} on http://{f'[{host}]' if ':' in host else host}:{port}   Ctrl-C ends it")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.application.state.draining:  # told twice: at once
            self.should_exit = True
        self.application.state.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        state = self.application.state
        if state.draining and not self.should_exit:
            now = time.monotonic()
            self.latest = self.latest or now + self.grace
            if now >= self.latest:
                await self.application.end()  # whoever still waits is told
                await asyncio.sleep(0.5)
            self.should_exit = now >= self.latest or not state.requests
        return await super().on_tick(counter)
