"""What goes wrong, in the shape that OpenAI's SDK reads. No stack trace leaves the process."""

from __future__ import annotations

import json
import traceback
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.progress import say

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    503: "service_unavailable",
    504: "timeout",
}


class Refused(Exception):
    """A request that is not answered: the status, why, and which parameter is at fault."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code


def error_body(status: int, message: str, param: str | None = None, code: str | None = None) -> JsonObject:
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def answer(status: int, message: str, param: str | None = None, code: str | None = None) -> Response:
    """Everything beyond ASCII is escaped: what a client sent may be no text that UTF-8 can carry."""
    headers = {"retry-after": "1"} if status in (429, 503) else {}
    headers |= {"www-authenticate": "Bearer"} if status == 401 else {}
    body = json.dumps(error_body(status, message, param, code))
    return Response(body, status, headers, media_type="application/json")


def told(error: BaseException) -> tuple[int, str, str | None, str | None]:
    """Status, message, parameter and code of whatever went wrong; what the client may not know goes to stderr."""
    match error:
        case Refused():
            return error.status, error.message, error.param, error.code
        case Fault():
            return 400, " ".join(str(error).split()), None, None
        case _:
            say("".join(traceback.format_exception(error)))
            return 500, "the server failed; its log says why.", None, None


def install(app: FastAPI) -> None:
    """Every error of the application is answered in this shape."""

    async def known(request: Request, error: Any) -> Response:
        return answer(*told(error))

    async def invalid(request: Request, error: Any) -> Response:
        first, *others = error.errors()
        place = ".".join(str(part) for part in first["loc"] if part != "body") or None
        more = f" ({len(others)} more)" if others else ""
        return answer(400, f"{place or 'the request'}: {first['msg']}{more}", place, first["type"])

    async def http(request: Request, error: Any) -> Response:
        message = (
            f"there is no {request.method} {request.url.path}." if error.status_code in (404, 405) else error.detail
        )
        return answer(error.status_code, message)

    app.add_exception_handler(Exception, known)
    app.add_exception_handler(Refused, known)
    app.add_exception_handler(Fault, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
