"""The page at /: three files from the package, and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

FILES = {
    "": ("index.html", "text/html"),
    "page.js": ("page.js", "text/javascript"),
    "page.css": ("page.css", "text/css"),
}
HEADERS = {
    # nothing but these files runs, and nobody else is asked
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    for path, (name, kind) in FILES.items():
        content = files("foreword.serve").joinpath("page", name).read_bytes()
        routes.get(f"/{path}", response_model=None)(_answering(content, f"{kind}; charset=utf-8"))
    return routes


def _answering(content: bytes, kind: str) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        return Response(content, media_type=kind, headers=HEADERS)

    return answer
