"""What handles of HTTP's requests have in common: who asks, work in threads that ends with its client, bodies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from starlette.requests import HTTPConnection, Request

from ivm.catalog.errors import BindError, TypeMismatchError
from ivm.catalog.schema import Table, View
from ivm.intake.documents import number_of
from ivm.serve.errors import LimitError, NotFoundError
from ivm.serve.http.access import admitted
from ivm.serve.inside import Inside, Session
from ivm.session.database import core_of

T = TypeVar("T")
_THREADS = 32
"""So many statements are carried out side by side; more wait for their turn."""


class Desk:
    """What requests are handled by: the inside, and threads. `ending` is set when streams are to end."""

    def __init__(self, inside: Inside, ending: asyncio.Event) -> None:
        self.inside = inside
        self.ending = ending
        self.threads = ThreadPoolExecutor(_THREADS, "ivm-serve-http")

    async def session(self, asked: HTTPConnection) -> Session:
        """A session for who asks. DeniedError."""
        return self.inside.session(await admitted(self.inside, asked))

    async def aside(self, work: Callable[[], T]) -> T:
        """Do something in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)

    async def run(self, request: Request, session: Session, work: Callable[[], T]) -> T:
        """Do something in a thread, whose body was read before; it is ended when the client goes meanwhile."""
        working = asyncio.ensure_future(self.aside(partial(_closing, session, work)))
        going = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({working, going}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                session.cancel("nobody waits for it any more")
            return await working
        finally:
            going.cancel()

    async def body(self, request: Request) -> bytes:
        """What a client sends. LimitError for too much, or too slowly."""
        limits, found = self.inside.settings.limits, bytearray()
        too_much = LimitError(
            f"cannot take a request of more than {limits.request_bytes:,} bytes; send less at once, or serve with a "
            "larger limit of bytes"
        )
        if int(request.headers.get("content-length", "0")) > limits.request_bytes:
            raise too_much
        try:
            async with asyncio.timeout(limits.seconds):
                async for piece in request.stream():
                    found += piece
                    if len(found) > limits.request_bytes:
                        raise too_much
        except TimeoutError as error:
            raise LimitError(
                f"cannot wait any longer for the request, of which {len(found):,} bytes came in {limits.seconds:g} s; "
                "nothing of it took effect"
            ) from error
        return bytes(found)


def found(session: Session, name: str, kind: type[Table] | type[View]) -> Table | View:
    """The table or view of a name. NotFoundError, with the names that are near."""
    core = core_of(session.db)
    try:
        entry = core.catalog.lookup(core.settings.names.given(name))
    except BindError as error:
        raise NotFoundError(str(error)) from error
    if not isinstance(entry, kind):
        told, path = ("view", "tables") if kind is View else ("table", "views")
        raise NotFoundError(f"cannot find {told} {name}: it is none; ask for /{path}/{name}")
    return entry


def read_json(body: bytes) -> Any:
    """What a text of JSON says, numbers with all of their digits. TypeMismatchError says where it is wrong."""
    try:
        return json.loads(body, parse_float=number_of)
    except UnicodeDecodeError as error:
        raise TypeMismatchError(f"cannot read the request: it is not UTF-8: {error}") from error
    except RecursionError as error:
        raise TypeMismatchError("cannot read the request: its JSON has too many levels; nothing was done") from error
    except json.JSONDecodeError as error:
        raise TypeMismatchError(
            f"cannot read the request: it is no JSON: {error.msg} (line {error.lineno}, column {error.colno}); nothing "
            "was done"
        ) from error


def _closing(session: Session, work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        session.close()


async def _gone(request: Request) -> None:
    """Return when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
