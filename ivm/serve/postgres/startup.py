"""How a connection begins: what is wanted, by TLS or not, who it is, and what a client is told first."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field

from ivm.serve.errors import DeniedError
from ivm.serve.gate import Gate
from ivm.serve.postgres import messages
from ivm.serve.postgres.errors import PROTOCOL, SqlStateError
from ivm.serve.postgres.messages import Body, MalformedError
from ivm.serve.postgres.scram import MECHANISM, Exchange, RefusedError
from ivm.serve.users import User

MOST_BYTES = 10_000
"""Before a client is known it says little."""
SECONDS = 30.0
"""So long a client may take until it is known."""
SECONDS_OF_MESSAGE = 60.0
"""So long the rest of a message that has begun may take."""
_MUCH = 1 << 16
"""Bytes that are held at most, and then one message."""
_FIRST = 3
_SASL, _CONTINUE, _FINAL = 10, 11, 12
_OPTION = "_pq_."


@dataclass(frozen=True, slots=True)
class Cancel:
    """A first message that wants a query of another connection to end."""

    process: int
    secret: bytes


@dataclass(slots=True)
class Streams:
    """By which a client is heard and told.

    What is written is held until the client waits for it, as Postgres does: each message sent by itself costs more than
    making it.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _held: list[bytes] = field(default_factory=list)
    _bytes: int = 0

    async def message(self, most: int) -> tuple[bytes, bytes]:
        """The next message: its kind, and what it holds. MalformedError for one of more than so many bytes."""
        head = await self.reader.readexactly(5)
        size = int.from_bytes(head[1:], "big") - 4
        if not 0 <= size <= most:
            raise MalformedError(f"a message of {size + 4} bytes came, and one may have {most} here")
        if not size:
            return head[:1], b""
        try:
            async with asyncio.timeout(SECONDS_OF_MESSAGE):
                return head[:1], await self.reader.readexactly(size)
        except TimeoutError as error:
            raise MalformedError(f"the rest of a message has not come in {SECONDS_OF_MESSAGE:g} s") from error

    def write(self, data: bytes) -> None:
        """Send bytes with the next that are sent."""
        self._held.append(data)
        self._bytes += len(data)

    @property
    def holds_much(self) -> bool:
        """Whether so much is held that it should be sent."""
        return self._bytes > _MUCH

    def push(self) -> None:
        """Send what is held."""
        held, self._held, self._bytes = self._held, [], 0
        if held:
            self.writer.write(b"".join(held))

    async def send(self, data: bytes = b"") -> None:
        """Send what is held, and then bytes; wait while too many are under way."""
        self.write(data)
        self.push()
        await self.writer.drain()


async def wanted(streams: Streams, tls: ssl.SSLContext | None) -> dict[str, str] | Cancel:
    """What a client says first: its settings, `user` among them, or whose query it wants cancelled."""
    is_secret = False
    for _ in range(_FIRST):
        size = int.from_bytes(await streams.reader.readexactly(4), "big") - 4
        if not 4 <= size <= MOST_BYTES:
            raise MalformedError("the first message is none of Postgres's protocol")
        body = Body(await streams.reader.readexactly(size))
        code = body.int32()
        if code == messages.CANCEL:
            return Cancel(body.int32(), body.taken(size - 8))
        if code == messages.SSL and tls is not None and not is_secret:
            await streams.send(b"S")
            await streams.writer.start_tls(tls)
            is_secret = True
        elif code in (messages.SSL, messages.GSSENC):
            await streams.send(b"N")
        elif code >> 16 == messages.VERSION >> 16:
            if tls is not None and not is_secret:
                raise SqlStateError("28000", "the server speaks TLS; connect with sslmode=require")
            return await _started(streams, body, code)
        else:
            raise SqlStateError(PROTOCOL, f"protocol {code >> 16}.{code & 0xFFFF} is not spoken here, but 3.0 is")
    raise MalformedError("the same is asked time and again")


async def _started(streams: Streams, body: Body, version: int) -> dict[str, str]:
    said = dict[str, str]()
    while name := body.text():
        said[name] = body.text()
    unknown = [name for name in said if name.startswith(_OPTION)]
    if version != messages.VERSION or unknown:
        streams.write(messages.negotiated(unknown))
    if not said.get("user"):
        raise SqlStateError("28000", "the client says no user; give one")
    return said


async def known(streams: Streams, name: str, gate: Gate, address: str) -> User:
    """Who it is; whoever says so where the server has no users. DeniedError for who does not know the password."""
    user = gate.user(name)
    if not gate.is_open:
        await asyncio.sleep(gate.pause(address, name))
        try:
            await _proven(streams, Exchange(None if user is None else user.password))
        except RefusedError as error:
            gate.count(address, name, False)
            raise DeniedError(f"cannot come in as {name!r}: the password is wrong, or there is no such user") from error
        gate.count(address, name, True)
    if user is None:
        raise gate.denied()
    streams.write(messages.authentication(0))
    return user


async def _proven(streams: Streams, exchange: Exchange) -> None:
    await streams.send(messages.authentication(_SASL, MECHANISM.encode() + b"\0\0"))
    body = Body(await _answer(streams))
    if body.text() != MECHANISM:
        raise RefusedError("another mechanism")
    await streams.send(messages.authentication(_CONTINUE, exchange.first(body.value() or b"")))
    streams.write(messages.authentication(_FINAL, exchange.last(await _answer(streams))))


async def _answer(streams: Streams) -> bytes:
    kind, data = await streams.message(MOST_BYTES)
    if kind != b"p":
        raise MalformedError("a password was asked for, and something else came")
    return data
