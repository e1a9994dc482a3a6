"""The application that HTTP's door is around: its routes, and what errors look like there."""

from __future__ import annotations

from functools import partial
from time import perf_counter

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ivm.catalog.errors import (
    AccessError,
    ConstraintError,
    Error,
    InterfaceError,
    LagError,
    MemoryLimitError,
    StorageError,
    TransactionError,
    ViewDroppedError,
)
from ivm.serve.errors import CancelledError, DeniedError, LimitError, NotFoundError, TooLongError
from ivm.serve.http.access import admitted
from ivm.serve.http.changes import change_table
from ivm.serve.http.console import console, top
from ivm.serve.http.desk import Desk
from ivm.serve.http.metrics import metrics
from ivm.serve.http.rows import list_tables, list_views, read_table, read_view
from ivm.serve.http.statements import run_sql
from ivm.serve.http.streams import acknowledge, forget, send_events, send_messages
from ivm.serve.inside import Inside, log


def application(desk: Desk) -> ASGIApp:
    """What answers requests."""
    routes = [
        Route("/", console),
        Route("/health", partial(_health, desk)),
        Route("/me", partial(_me, desk)),
        Route("/metrics", partial(metrics, desk)),
        Route("/top", partial(top, desk)),
        Route("/sql", partial(run_sql, desk), methods=["POST"]),
        Route("/tables", partial(list_tables, desk)),
        Route("/tables/{name:path}", partial(read_table, desk)),
        Route("/tables/{name:path}", partial(change_table, desk), methods=["POST"]),
        Route("/views", partial(list_views, desk)),
        Route("/views/{name:path}/changes", partial(send_events, desk)),
        Route("/views/{name:path}", partial(read_view, desk)),
        Route("/changes", partial(send_events, desk)),
        Route("/subscriptions/{name:path}", partial(acknowledge, desk), methods=["POST"]),
        Route("/subscriptions/{name:path}", partial(forget, desk), methods=["DELETE"]),
        WebSocketRoute("/changes", partial(send_messages, desk)),
        WebSocketRoute("/views/{name:path}/changes", partial(send_messages, desk)),
    ]
    handlers = {Error: _refused, HTTPException: _unknown}
    app: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]
    origins = desk.inside.settings.origins
    if origins:
        said = ("authorization", "batch", "content-type", "if-none-match", "last-event-id")
        app = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=said,
            expose_headers=("Ivm-Time",),
        )
    return _Counted(app, desk.inside)


async def _health(desk: Desk, _: Request) -> Response:
    return JSONResponse({"status": "ok", "time": desk.inside.db.time})


async def _me(desk: Desk, request: Request) -> Response:
    user = await admitted(desk.inside, request)
    return JSONResponse({"name": user.name, "role": user.role})


_STATUS: dict[type[Error], int] = {
    DeniedError: 401, AccessError: 403, NotFoundError: 404, ConstraintError: 409, TransactionError: 409,
    ViewDroppedError: 410, LagError: 410, TooLongError: 504, LimitError: 413, MemoryLimitError: 413,
    CancelledError: 503, InterfaceError: 503, StorageError: 500,
}  # fmt: skip
"""The status of an error, by the first class that it is of; of any other 400."""


def status_of(error: Error) -> int:
    """What HTTP calls an error."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)


async def _refused(request: Request, error: Error) -> Response:
    status = status_of(error)
    log.info("refused %s %s: %s", request.method, request.url.path, error, extra={"status": status})
    headers = {"WWW-Authenticate": 'Bearer, Basic realm="ivm"'} if status == 401 else None
    return JSONResponse({"kind": type(error).__name__, "error": str(error)}, status, headers)


async def _unknown(request: Request, error: HTTPException) -> Response:
    ask = "ask for /views, /tables, /sql, /metrics or /health"
    return JSONResponse(
        {"kind": "NotFoundError", "error": f"cannot {request.method} {request.url.path}: {error.detail}; {ask}"},
        error.status_code,
        error.headers,
    )


class _Counted:
    """Counts requests, and how long they take to be answered."""

    def __init__(self, app: ASGIApp, inside: Inside) -> None:
        self._app = app
        self._inside = inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, meter = perf_counter(), self._inside.meter

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                labels = {"door": "http", "method": scope["method"], "status": str(message["status"])}
                meter.add("requests", 1, **labels)
                meter.add("request_seconds", perf_counter() - begun, **labels)
            await send(message)

        await self._app(scope, receive, answer)
