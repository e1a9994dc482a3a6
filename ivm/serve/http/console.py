"""GET /: a page to look at a database with, which asks what everybody may ask; GET /top: what it shows first."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ivm.serve.http.desk import Desk
from ivm.top.figures import SECONDS, look

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'"
)
_PARTS = Path(__file__).with_name("page")


async def console(_: Request) -> Response:
    """The page, for whoever comes: it holds nothing, and loads nothing from elsewhere."""
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"})


async def top(desk: Desk, request: Request) -> Response:
    """What `ivm top` looks at, as it is now: see `Look`; `seconds` are those of the commits that it counts."""
    session = await desk.session(request)
    found = await desk.run(request, session, lambda: look(lambda text: session.sql(text).arrow().to_pylist()))
    told = json.dumps({"seconds": SECONDS, **asdict(found)})
    return Response(told, media_type="application/json", headers={"Cache-Control": "no-store"})


@cache
def _page() -> str:
    """The page with its parts where it names them, so that one answer is all of it."""
    page = (_PARTS / "page.html").read_text(encoding="utf-8")
    return re.sub(r"{{([\w.]+)}}", lambda part: (_PARTS / part[1]).read_text(encoding="utf-8"), page)
