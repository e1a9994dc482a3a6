"""The application that HTTP's door is around: its routes."""

from __future__ import annotations

import asyncio

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ivm.serve.errors import DeniedError
from ivm.serve.http.access import admitted
from ivm.serve.inside import Inside


def application(inside: Inside, ending: asyncio.Event) -> Starlette:
    """What answers requests. `ending` is set when streams are to end."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "time": inside.db.time})

    async def me(request: Request) -> Response:
        user = await admitted(inside, request)
        return JSONResponse({"name": user.name, "role": user.role})

    async def denied(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, 401, {"WWW-Authenticate": "Bearer"})

    return Starlette(routes=[Route("/health", health), Route("/me", me)], exception_handlers={DeniedError: denied})
