"""Answers that come in pieces, as server-sent events; a client that reads nothing, or is gone, ends its request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from foreword.basics.files import JsonObject
from foreword.serve.errors import Refused, error_body, told

SLOWEST = 20.0  # seconds in which a client takes what was sent to it
DONE = b"data: [DONE]\n\n"


async def gone(receive: Receive) -> None:
    """Until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(request: Request, work: Awaitable[Any], limit: float) -> Any:
    """A result, unless the client leaves first or it takes too long; then the work is cancelled."""
    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone(request.receive))
    try:
        await asyncio.wait({task, leaving}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if leaving.done():
            raise Refused(499, "the client has left.")
        raise Refused(504, f"there was no answer within {limit:g} seconds.", None, "timeout")
    finally:
        for one in (task, leaving):
            one.cancel()
            with suppress(BaseException):
                await one


class EventStream(Response):
    """Pieces of JSON, each an event. `close` is called when it is over, whatever ended it."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncIterator[Iterable[JsonObject]], close: Callable[[], None], limit: float):
        self.pieces, self.close, self.limit = pieces, close, limit
        super().__init__(None, headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing, leaving = asyncio.ensure_future(self._write(send)), asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                writing.result()
        finally:
            self.close()
            for one in (writing, leaving):
                one.cancel()
                with suppress(BaseException):
                    await one

    async def _write(self, send: Send) -> None:
        async def put(body: bytes, more: bool = True) -> None:
            try:
                async with asyncio.timeout(SLOWEST):
                    await send({"type": "http.response.body", "body": body, "more_body": more})
            except TimeoutError as error:
                raise ConnectionError("the client reads nothing") from error

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with suppress(OSError):
            try:
                async with asyncio.timeout(self.limit):
                    async for some in self.pieces:
                        await put(b"".join(map(event, some)))
            except TimeoutError:
                late = f"the answer was not finished within {self.limit:g} seconds."
                await put(event(error_body(504, late, None, "timeout")))
            except Exception as error:  # noqa: BLE001  the head was sent: all that is left is an event that says it
                if isinstance(error, OSError):
                    raise
                await put(event(error_body(*told(error))))
            await put(DONE)
            await put(b"", more=False)


def event(piece: JsonObject) -> bytes:
    return b"data: " + json.dumps(piece).encode("ascii") + b"\n\n"  # some clients take U+2028 for the end of a line
