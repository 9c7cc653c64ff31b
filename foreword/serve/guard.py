"""What stands before every route: the key, how large a request may be, and whether the server is stopping."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foreword.serve.errors import Refused, answer, told
from foreword.serve.metrics import Metrics

OPEN = ("/health", "/ready", "/", "/page.js", "/page.css")  # without a key: they tell nothing of any model


@dataclass
class ServerState:
    """How things stand, as the guard asks it for each request."""

    api_key: str = ""  # "": nobody needs one
    draining: bool = False
    requests: int = 0  # that are being answered


class Guard:
    """Around the application: it sees every request first, and counts what became of it."""

    def __init__(self, app: ASGIApp, state: ServerState, metrics: Metrics, most_bytes: int):
        self.app, self.state, self.metrics, self.most_bytes = app, state, metrics, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, begun = 500, False

        async def noting(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
            await send(message)

        self.state.requests += 1
        try:
            if refused := self._refused(scope):
                await answer(refused.status, refused.message, refused.param, refused.code)(scope, receive, noting)
            else:
                await self.app(scope, self._limited(receive), noting)
        except OSError:  # the client is gone
            pass
        except Exception as error:  # noqa: BLE001  nothing of it may reach the client but that it happened
            if not begun:  # where it has begun, the application has said it
                await answer(*told(error))(scope, receive, noting)
        finally:
            self.state.requests -= 1
            route = scope.get("route")  # its pattern, not what was asked: names of models are not paths
            self.metrics.requests.labels(getattr(route, "path", "other"), str(status)).inc()

    def _refused(self, scope: Scope) -> Refused | None:
        headers = dict(scope["headers"])
        if self.state.draining and scope["path"] not in ("/health", "/ready", "/metrics"):
            return Refused(503, "the server is stopping.")
        if self.state.api_key and scope["path"] not in OPEN:
            scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(key, self.state.api_key.encode()):
                return Refused(401, "the API key is missing or wrong.", None, "invalid_api_key")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18:
            return Refused(400, "content-length is no number.")
        if int(length) > self.most_bytes:
            return self._too_large()
        return None

    def _too_large(self) -> Refused:
        return Refused(413, f"a request has at most {self.most_bytes:,} bytes.")

    def _limited(self, receive: Receive) -> Receive:
        """A body that does not say its length is counted as it comes."""
        read = 0

        async def counting() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.most_bytes:
                raise HTTPException(413, self._too_large().message)  # FastAPI lets no other through
            return message

        return counting
