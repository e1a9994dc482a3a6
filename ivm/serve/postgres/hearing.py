"""What a client says is heard while something is carried out for it: if it goes, or wants that to end, that ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TypeVar

from ivm.serve.errors import CancelledError
from ivm.serve.inside import Inside
from ivm.serve.postgres.session import PgSession
from ivm.serve.postgres.startup import Streams

T = TypeVar("T")
_MOST_AHEAD = 1000
"""Messages that are taken while a statement is carried out; more wait outside."""
_LOOKS_AFTER = 0.5
"""After so many seconds of a statement it is looked whether its client is there still."""
END = b"X"
"""The kind of the message by which a client goes."""


class GoneError(Exception):
    """The client has gone, or said that it goes."""


@dataclass
class Hearing:
    """A connection, as far as it hears and waits; all but `work`'s work is done by the loop of events."""

    streams: Streams
    session: PgSession
    inside: Inside
    threads: Executor
    _ahead: deque[tuple[bytes, bytes]] = field(default_factory=deque, kw_only=True)
    _reading: asyncio.Future[tuple[bytes, bytes]] | None = field(default=None, kw_only=True)
    """What waits for a message that is to be kept when it comes; never cancelled, as half a message would be lost."""
    _ended: asyncio.Future[str] | None = field(default=None, kw_only=True)
    """Of what goes on until it is ended: why it is to end."""

    def close(self) -> None:
        """Let go of all, once what is carried out has ended."""
        if self._reading is not None:
            self._reading.cancel()
        self.session.close()

    def cancel(self, why: str) -> None:
        """End what is carried out, if something is. To be called by the loop."""
        self.session.session.cancel(why)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(why)

    async def message(self) -> tuple[bytes, bytes]:
        """The next message; GoneError if there is none any more."""
        if self._ahead:
            return self._ahead.popleft()
        reading, self._reading = self._reading, None
        return await (self._read() if reading is None else reading)

    async def _read(self) -> tuple[bytes, bytes]:
        try:
            return await self.streams.message(self.inside.settings.limits.request_bytes)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise GoneError from error

    async def comes_next(self, kind: bytes) -> bool:
        """Whether a message of this kind is the next, and here already."""
        if not self._ahead:
            self._read_on()
            await asyncio.sleep(0)  # in which what is here is read
            if self._reading is not None and self._reading.done():
                self._keep(self._reading)
        return bool(self._ahead) and self._ahead[0][0] == kind

    async def work(self, work: Callable[[], T]) -> T:
        """Have a thread do something; what the client has set, or that it goes, ends it."""
        doing = asyncio.get_running_loop().run_in_executor(self.threads, work)
        seconds = self.session.variables.seconds
        try:
            if not await _is_done(doing, min(seconds or _LOOKS_AFTER, _LOOKS_AFTER)):
                await self._watched(doing, max(seconds - _LOOKS_AFTER, 0.001) if seconds else 0)
        except asyncio.CancelledError:  # the server ends: what is at work may finish
            await asyncio.wait([doing])
            raise
        return await doing

    async def _watched(self, doing: asyncio.Future[T], seconds: float) -> None:
        """Return when something is done; cancel it if the client goes, or after so many seconds unless they are 0."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds if seconds else float("inf")
        while not doing.done():
            self._read_on()
            waits = [each for each in (doing, self._reading) if each is not None]
            left = None if until == float("inf") else max(until - clock(), 0)
            await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if clock() >= until:
                self.cancel("it took longer than statement_timeout lets it")
                until = float("inf")
            if self._reading is not None and self._reading.done():
                self._keep(self._reading)

    async def unless_ended(self, coming: Awaitable[T]) -> T:
        """What comes, however long that takes; CancelledError if somebody ends it first, or the client goes."""
        loop = asyncio.get_running_loop()
        awaited, self._ended = asyncio.ensure_future(coming), loop.create_future()
        try:
            while not awaited.done() and not self._ended.done():
                self._read_on()
                waits = [each for each in (awaited, self._ended, self._reading) if each is not None]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                if self._reading is not None and self._reading.done():
                    self._keep(self._reading)
            if self._ended.done():
                raise CancelledError(f"cannot go on with the statement: {self._ended.result()}")
            return awaited.result()
        finally:
            self._ended = None
            awaited.cancel()

    def _read_on(self) -> None:
        """Look for the next message while something else goes on."""
        if self._reading is None and len(self._ahead) < _MOST_AHEAD:
            self._reading = asyncio.ensure_future(self._read())

    def _keep(self, reading: asyncio.Future[tuple[bytes, bytes]]) -> None:
        """Keep a message that has come meanwhile; cancel what is done if it is that the client goes."""
        self._reading = None
        gone = reading.exception()
        found = (END, b"") if gone is not None else reading.result()
        self._ahead.append(found)
        if found[0] == END:
            self.cancel("the client has gone")


async def _is_done(doing: asyncio.Future[T], seconds: float) -> bool:
    done, _ = await asyncio.wait([doing], timeout=seconds)
    return bool(done)
