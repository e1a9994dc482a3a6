"""Changes of a view, or of a query, as they come: server-sent events, and WebSocket, at /views/NAME/changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import pyarrow as pa
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket

from ivm.catalog.errors import BindError, Error, InterfaceError, TypeMismatchError
from ivm.catalog.schema import View
from ivm.results.written import json_parts
from ivm.serve.errors import DeniedError, NotFoundError
from ivm.serve.http.answers import ARROW
from ivm.serve.http.desk import Desk, found, read_json
from ivm.serve.inside import Session
from ivm.session.named import KEEP
from ivm.sql.parameters import Parameters
from ivm.subscriptions.backlog import WhenFull
from ivm.subscriptions.forms import FormName
from ivm.subscriptions.subscription import Subscription

_BEAT_SECONDS = 15.0
"""So often something is sent where nothing changes, by which both ends see that the other is there."""
_AGAIN_MS = 1000
_FEW = 100
"""So many rows are written without another thread."""
_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request says of the changes that it wants, as `Database.subscribe` has it."""

    view: str
    params: Parameters | None
    snapshot: bool
    from_time: int | None
    every: int | str | None
    form: FormName
    progress: bool
    limit: int
    when_full: WhenFull
    name: str | None = None
    keep: int = KEEP

    def subscribe(self, session: Session) -> Subscription:
        """Listen. What is asked from a time that is gone begins with a snapshot, if that is asked for too."""
        if self.params is None:
            found(session, self.view, View)
        if self.from_time is not None and self.snapshot and self.name is None:
            try:
                return replace(self, snapshot=False).subscribe(session)
            except BindError:
                return replace(self, from_time=None).subscribe(session)
        return session.db.subscribe(
            self.view, self.params, snapshot=self.snapshot, from_time=self.from_time, every=self.every, form=self.form,
            progress=self.progress, limit=self.limit, when_full=self.when_full, name=self.name,
            keep=self.keep,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """What a client is told: `kind` is snapshot, changes, progress or end; the rows in between, up to a time."""

    kind: str
    time: int
    table: pa.Table | None = None
    why: Error | None = None


class Texts:
    """Tables as JSON, written once for all who are told the same."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[pa.Table, str]] = {}

    async def of(self, desk: Desk, table: pa.Table) -> str:
        """The rows as one line."""
        known = self._known.get(id(table))
        if known is not None:
            return known[1]
        write = partial(_line, table)
        text = write() if table.num_rows <= _FEW else await desk.aside(write)
        while len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[id(table)] = table, text
        return text


def wanted(asked: HTTPConnection) -> Wanted:
    """What a request wants. TypeMismatchError."""
    given = asked.query_params
    resumed = asked.headers.get("last-event-id") or given.get("from_time")
    every, limit, keep = given.get("every"), given.get("limit", "1000"), given.get("keep", str(KEEP))
    if resumed is not None and not _is_number(resumed):
        raise TypeMismatchError(f"Last-Event-ID is {resumed[:100]!r}, and must be the id of an event of this view")
    for name, number in {"limit": limit, "keep": keep}.items():
        if not _is_number(number):
            raise TypeMismatchError(f"{name} is {number[:100]!r}, and must be a whole number")
    if given.get("when_full") == "block":
        raise TypeMismatchError("when_full is 'block', which would let a client hold up commits; take coalesce or fail")
    of, params = (asked.path_params["name"], None) if "name" in asked.path_params else _query(given)
    return Wanted(
        of, params, _is_true(given, "snapshot"), None if resumed is None else int(resumed),
        int(every) if every is not None and _is_number(every) else every, cast(FormName, given.get("form", "changes")),
        _is_true(given, "progress"), int(limit), cast(WhenFull, given.get("when_full", "coalesce")),
        given.get("name"), int(keep),
    )  # fmt: skip


async def send_events(desk: Desk, request: Request) -> Response:
    """Changes as server-sent events, from now on, or from where Last-Event-ID says."""
    session, wish = await desk.session(request), wanted(request)
    subscription = await desk.aside(partial(wish.subscribe, session))
    return StreamingResponse(
        _as_events(desk, subscription), media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )  # fmt: skip


async def _as_events(desk: Desk, subscription: Subscription) -> AsyncIterator[str]:
    yield f"retry: {_AGAIN_MS}\n\n"
    async for event in _told(desk, subscription, asyncio.Event().wait()):
        if event is None:
            yield ": still here\n\n"
        else:
            yield f"event: {event.kind}\nid: {event.time}\ndata: {await _data(desk, event)}\n\n"


async def acknowledge(desk: Desk, request: Request) -> Response:
    """What `Subscription.acknowledge` does, of whoever listens by a name: POST /subscriptions/NAME?time=7."""
    session, name, time = await desk.session(request), request.path_params["name"], request.query_params.get("time", "")
    if not _is_number(time):
        raise TypeMismatchError(f"time is {time[:100]!r}, and must be the id of an event that was carried out")
    await desk.run(request, session, partial(session.db.acknowledge, name, int(time)))
    return Response(status_code=204)


async def forget(desk: Desk, request: Request) -> Response:
    """What `Database.forget_subscription` does: DELETE /subscriptions/NAME."""
    session, name = await desk.session(request), request.path_params["name"]
    await desk.run(request, session, partial(session.db.forget_subscription, name))
    return Response(status_code=204)


async def send_messages(desk: Desk, socket: WebSocket) -> None:
    """The same by WebSocket: JSON texts, or with `?format=arrow` rows as Arrow, each after a text without them."""
    try:
        session, wish = await desk.session(socket), wanted(socket)
        subscription = await desk.aside(partial(wish.subscribe, session))
    except Error as error:
        status = 401 if isinstance(error, DeniedError) else 404 if isinstance(error, NotFoundError) else 400
        await socket.send_denial_response(Response(str(error), status))
        return
    await socket.accept()
    as_arrow = socket.query_params.get("format") == "arrow"
    code, why = 1000, ""
    async for event in _told(desk, subscription, _left(socket)):
        if event is None:
            continue  # uvicorn pings by itself
        if as_arrow and event.table is not None:
            await socket.send_text(json.dumps({"event": event.kind, "time": event.time}))
            await socket.send_bytes(await desk.aside(lambda table=event.table: b"".join(ARROW.write(table))))  # type: ignore[misc]
        else:
            data = await _data(desk, event)
            await socket.send_text(f'{{"event": "{event.kind}", "time": {event.time}, "rows": {data}}}')
        if event.why is not None:
            code, why = (1012 if isinstance(event.why, InterfaceError) else 1011), str(event.why)
    await socket.close(code, why.encode()[:120].decode(errors="ignore"))


async def _told(desk: Desk, subscription: Subscription, gone: Awaitable[Any]) -> AsyncIterator[Event | None]:
    """What a client is told until he has `gone`; None where nothing has changed for a while."""
    leaving = asyncio.ensure_future(gone)
    ending = asyncio.ensure_future(desk.ending.wait())
    tables = aiter(subscription)
    coming: asyncio.Future[pa.Table | None] | None = None
    async with _counted(desk, subscription):
        try:
            kind = "snapshot" if subscription.up_to() < 0 else "changes"  # who goes on is told what he lacks alone
            first = await desk.aside(subscription.fetch)
            yield Event(kind, subscription.time, first)
            while True:
                coming = coming or asyncio.ensure_future(_next(tables))
                await asyncio.wait({coming, leaving, ending}, timeout=_BEAT_SECONDS, return_when="FIRST_COMPLETED")
                if leaving.done():
                    return
                if coming.done():
                    table, coming = coming.result(), None
                    if table is None:
                        raise InterfaceError("cannot tell more changes: the database was closed")
                    yield Event("changes" if table.num_rows else "progress", subscription.time, table)
                elif ending.done():
                    raise InterfaceError("cannot tell more changes: the server ends; ask again, from the last id on")
                else:
                    yield None
        except Error as error:
            yield Event("end", subscription.time, why=error)
        finally:
            for each in (leaving, ending, coming):
                if each is not None:
                    each.cancel()


async def _next(tables: AsyncIterator[pa.Table]) -> pa.Table | None:
    return await anext(tables, None)


@asynccontextmanager
async def _counted(desk: Desk, subscription: Subscription) -> AsyncIterator[None]:
    """Count the stream while there is one, and let go of what it listens to, which may wait for a commit, aside."""
    desk.inside.meter.add("streams", 1, door="http")
    try:
        yield
    finally:
        desk.inside.meter.add("streams", -1, door="http")
        desk.threads.submit(subscription.close)


async def _left(socket: WebSocket) -> None:
    """Return when the client has gone; what he says is not asked for."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _data(desk: Desk, event: Event) -> str:
    if event.why is not None:
        return json.dumps({"kind": type(event.why).__name__, "error": str(event.why)})
    return await _TEXTS.of(desk, event.table)


def _line(table: pa.Table) -> str:
    return "".join(json_parts(table, ", "))


def _query(given: Mapping[str, str]) -> tuple[str, Parameters]:
    """The SELECT of a request, and the values of its parameters."""
    params = read_json(given.get("params", "[]").encode())
    if "sql" not in given or not isinstance(params, list | dict):
        raise TypeMismatchError(
            "cannot tell changes: ask for /changes?sql=SELECT .., and params=[..], an array or object"
        )
    return given["sql"], params


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _is_true(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in ("true", "false", "1", "0"):
        raise TypeMismatchError(f"{name} is {text[:100]!r}, and must be true or false")
    return text in ("true", "1")


_TEXTS = Texts()
