"""GET /: a page to look at a database with, which asks what everybody may ask."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'"
)


async def console(_: Request) -> Response:
    """The page, for whoever comes: it holds nothing, and loads nothing from elsewhere."""
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"})


@cache
def _page() -> str:
    return Path(__file__).with_name("console.html").read_text(encoding="utf-8")
