"""What goes on for longer than one answer: COPY in and out, and SUBSCRIBE."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import pyarrow as pa

from ivm.serve.errors import LimitError
from ivm.serve.inside import Inside
from ivm.serve.postgres import messages
from ivm.serve.postgres.copy_words import Copy, copy_of
from ivm.serve.postgres.copying import Out
from ivm.serve.postgres.encoding import encoded
from ivm.serve.postgres.errors import CANCELLED, SqlStateError
from ivm.serve.postgres.following import Following, Wanted, wanted
from ivm.serve.postgres.messages import MalformedError
from ivm.serve.postgres.session import PgSession
from ivm.serve.postgres.startup import Streams
from ivm.session.script import without_comments

T = TypeVar("T")
TRANSFERS = ("COPY", "SUBSCRIBE")
"""The words that such statements begin with."""
_AT_ONCE = 5000
_MOST_MESSAGES = 16
"""So many times as large as one message may be what a COPY brings."""


class Client(Protocol):
    """A connection, as far as it has to do with what goes on for long."""

    streams: Streams
    session: PgSession
    inside: Inside

    async def message(self) -> tuple[bytes, bytes]:
        """The next message."""
        ...

    async def work(self, work: Callable[[], T]) -> T:
        """Have a thread do something."""
        ...

    async def unless_ended(self, coming: Awaitable[T]) -> T:
        """What comes, unless somebody ends that first."""
        ...


@dataclass(frozen=True, slots=True)
class Transfer:
    """A COPY or a SUBSCRIBE, whose rows go as they come, and not when all are there."""

    copy: Copy | None
    follows: Wanted | None


def transfer_of(word: str, text: str) -> Transfer | None:
    """What a statement that begins with a word transfers; None for any other one. SqlStateError."""
    if word == "COPY":
        copy = copy_of(without_comments(text))
        follows = wanted(copy.query.strip()) if copy is not None and copy.query else None
        return None if copy is None else Transfer(copy, follows)
    if word == "SUBSCRIBE":
        return Transfer(None, wanted(without_comments(text).strip().rstrip(";").rstrip()))
    return None


async def transferred(to: Client, transfer: Transfer, *, described: bool, forms: Sequence[int]) -> None:
    """Carry it out. `described`: whether the columns of rows are told first."""
    copy, follows = transfer.copy, transfer.follows
    if copy is not None and described:
        to.streams.write(messages.NO_DATA)
    if follows is not None:
        if copy is None:
            count = await _followed(to, follows, partial(_rows_told, to, described, forms))
            to.streams.write(messages.complete(f"SUBSCRIBE {count}"))
        else:
            lines = _Lines(to, copy)
            count = await _followed(to, follows, lines.tell)
            to.streams.write(lines.out.end() + messages.complete(f"COPY {count}"))
    elif copy is not None and copy.comes:
        await _copied_in(to, copy)
    elif copy is not None:
        await _copied_out(to, copy)


async def _copied_in(to: Client, copy: Copy) -> None:
    target = await to.work(partial(to.session.copy_into, copy))
    form = int(copy.format == "binary")
    await to.streams.send(messages.copy_response(b"G", len(target.fields), form))
    data, most = bytearray(), to.inside.settings.limits.request_bytes * _MOST_MESSAGES
    while True:
        kind, body = await to.message()
        match kind:
            case b"d":
                data += body
                if len(data) > most:
                    raise LimitError(f"cannot copy more than {most:,} bytes at once; copy them in parts")
            case b"c":
                break
            case b"f":
                raise SqlStateError(CANCELLED, f"the client has ended the COPY: {messages.Body(body).text()}")
            case b"H" | b"S":
                pass
            case _:
                raise MalformedError(f"a message of kind {kind!r} came while a COPY goes on")
    rows = await to.work(partial(to.session.copied_in, copy, target, bytes(data)))
    to.streams.write(messages.complete(f"COPY {rows}"))


async def _copied_out(to: Client, copy: Copy) -> None:
    outcome = await to.work(partial(to.session.run, copy.asked))
    rows = outcome.rows
    if rows is None:
        raise SqlStateError("42601", "cannot copy what gives no rows; write COPY (SELECT ..) TO STDOUT")
    out = Out(copy, outcome.shapes, to.session.core.settings.zone)
    to.streams.write(messages.copy_response(b"H", rows.num_columns, int(copy.format == "binary")))
    to.streams.write(out.names(rows.column_names))
    for start in range(0, rows.num_rows, _AT_ONCE):
        await to.streams.send(await to.work(partial(out.rows, rows.slice(start, _AT_ONCE))))
    to.streams.write(out.end() + messages.complete(f"COPY {rows.num_rows}"))


Tell = Callable[[Following, pa.Table | None], Awaitable[None]]
"""Sends changes; None: what comes first of all."""


async def _rows_told(
    to: Client, described: bool, forms: Sequence[int], following: Following, rows: pa.Table | None
) -> None:
    count = len(following.shapes)
    chosen = list(forms) if len(forms) == count else [forms[0] if forms else 0] * count
    if rows is None:
        told = [shape.described(name) for name, shape in zip(following.schema.names, following.shapes, strict=True)]
        await to.streams.send(messages.row_description(told, chosen) if described else b"")
        return
    zone = to.session.core.settings.zone
    given = zip(rows.columns, following.shapes, chosen, strict=True)
    await to.streams.send(messages.data_rows([encoded(*each, zone) for each in given], rows.num_rows))


class _Lines:
    """Tells changes by COPY."""

    def __init__(self, to: Client, copy: Copy) -> None:
        self._to, self._copy = to, copy
        self.out = Out(copy, (), "")

    async def tell(self, following: Following, rows: pa.Table | None) -> None:
        """Send changes; None: what comes first of all."""
        if rows is not None:
            await self._to.streams.send(self.out.rows(rows))
            return
        self.out = Out(self._copy, following.shapes, self._to.session.core.settings.zone)
        head = messages.copy_response(b"H", len(following.shapes), int(self._copy.format == "binary"))
        await self._to.streams.send(head + self.out.names(following.schema.names))


async def _followed(to: Client, follows: Wanted, tell: Tell) -> int:
    """Tell what changes until the view ends, or somebody ends this; how many rows that were."""
    following = await to.work(partial(to.session.subscribed, follows))
    count = 0
    with following.subscription as subscription:
        await tell(following, None)
        changes = aiter(subscription)
        while (table := await to.unless_ended(anext(changes, None))) is not None:
            rows = following.table(table)
            count += rows.num_rows
            for start in range(0, rows.num_rows, _AT_ONCE):
                await tell(following, rows.slice(start, _AT_ONCE))
    return count
