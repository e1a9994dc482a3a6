"""One connection from its first byte to its last: messages in, messages out, in the order of the protocol.

The loop of events does what takes no time. Statements, and the encoding of rows, are done by threads, of which a
connection that waits has none.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from ivm.catalog.errors import Error
from ivm.serve.inside import log
from ivm.serve.postgres import errors, messages
from ivm.serve.postgres.encoding import encoded
from ivm.serve.postgres.errors import SqlStateError, error_message
from ivm.serve.postgres.hearing import END, GoneError, Hearing
from ivm.serve.postgres.messages import Body, MalformedError
from ivm.serve.postgres.outcome import Outcome
from ivm.serve.postgres.prepared import Portal, Prepared, bound, parsed
from ivm.serve.postgres.transfer import TRANSFERS, Transfer, transfer_of, transferred
from ivm.serve.postgres.turns import DEFINES, PATIENCE_SECONDS, Turns
from ivm.serve.postgres.variables import TOLD
from ivm.session.script import first_word, is_blank, split
from ivm.sql.parameters import filled_with_texts

_AT_ONCE = 5000
"""Rows that are encoded and sent together."""
_FEW = 200
"""Values that are encoded at once, as handing them to a thread takes longer."""
_SYNC = b"S"


@dataclass
class Connection(Hearing):
    """One client's, once it is known who it is."""

    process: int
    turns: Turns
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(4))
    _described: Portal | None = None
    """A portal whose columns are to be told, which is done with its rows if these are asked for next."""
    _fails: bool = False
    """Whether a statement has failed, so that all is passed over until the client says Sync."""

    async def run(self) -> None:
        """Tell the client that it may begin, and do what it says, until it goes."""
        told = [messages.parameter_status(name, self.session.spoken.shown(name) or "") for name in TOLD]
        key = messages.key_data(self.process, self.secret)
        self.streams.write(b"".join(told) + key)
        await self._ready()
        with suppress(GoneError):
            while True:
                await self._next(*await self.message())

    def close(self) -> None:
        """See `Hearing.close`."""
        super().close()
        self.turns.leave(self)

    async def end(self) -> None:
        """Let go of all, and drop what is TEMP."""
        self.close()
        if self.session.has_temporary:
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.turns.take(self), PATIENCE_SECONDS)
                await asyncio.get_running_loop().run_in_executor(self.threads, self.session.drop_temporary)
            finally:
                self.turns.leave(self)

    async def _next(self, kind: bytes, data: bytes) -> None:
        if self._fails and kind not in (_SYNC, END):
            return
        text = ""
        try:
            body = Body(data)
            if self._described is not None and kind != b"E":
                await self._describe_now()
            match kind:
                case b"Q":
                    text = body.text()
                    await self._simple(text)
                case b"P":
                    self._parse(body)
                case b"B":
                    self._bind(body)
                case b"D":
                    await self._describe(body)
                case b"E":
                    await self._execute(body)
                case b"C":
                    self._close(body)
                case b"H":
                    await self.streams.send()
                case b"S":
                    self._fails = False
                    await self._end_together()
                    await self._ready()
                case b"X":
                    raise GoneError
                case b"d" | b"c" | b"f":
                    pass  # what is left of a COPY that has failed
                case _:
                    raise MalformedError(f"there is no message of kind {kind!r}")
            if self.streams.holds_much:
                await self.streams.send()
        except (GoneError, MalformedError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the client is told, and goes on
            await self._failed(error, text, kind)

    async def _failed(self, error: Exception, text: str, kind: bytes) -> None:
        if not isinstance(error, Error):
            log.error("a fault of the door of Postgres", exc_info=error)
        self._described = None
        self.session.transactions.failed(error)
        self.streams.write(error_message(error, text))
        if kind in (b"Q", _SYNC):
            await self._end_together()
            await self._ready()
        else:
            self._fails = True
            await self.streams.send()

    async def _ready(self) -> None:
        if self.session.status != "T":  # portals end with their transaction, and so does its turn
            self.session.portals.clear()
            self.turns.leave(self)
        await self.streams.send(messages.ready(self.session.status))

    # Simple queries.

    async def _simple(self, text: str) -> None:
        if is_blank(text.strip().rstrip(";")):
            self.streams.write(messages.EMPTY_QUERY)
        statements = split(text).all if ";" in text else (text,)
        for place, statement in enumerate(statements, 1):
            if len(statements) > 1:
                self.session.begin_together()
            transfer = transfer_of(first_word(statement), statement)
            if transfer is not None:
                await self._transferred(transfer, described=transfer.copy is None, forms=())
                continue
            await self._take_turn(statement)
            is_last = place == len(statements)
            outcome = await self.work(partial(self.session.run, statement, is_last=is_last))
            await self._tell(Portal(Prepared(statement, ()), (), (), outcome), described=outcome.rows is not None)
        await self._end_together()
        await self._ready()

    # What takes effect together: the statements of one text, and those that come before one Sync.

    async def _end_together(self) -> None:
        if self.session.is_together:
            await self.work(self.session.end_together)

    async def _transferred(self, transfer: Transfer, *, described: bool, forms: Sequence[int]) -> None:
        if transfer.follows is not None:  # which may go on for ever
            await self._end_together()
        await transferred(self, transfer, described=described, forms=forms)

    async def _take_turn(self, text: str) -> None:
        """Let transactions of others that define something end before this does. Who waits long goes on: first come,
        first served is the rule then, and the other's COMMIT fails.
        """
        if first_word(text) in DEFINES:
            with suppress(TimeoutError):
                await self.unless_ended(asyncio.wait_for(self.turns.take(self), PATIENCE_SECONDS))
            await self.work(self.session.renew)

    # Extended queries.

    def _parse(self, body: Body) -> None:
        name, statement = parsed(body, self.session.core.settings)
        if len(split(statement.text).all) > 1:
            raise SqlStateError("42601", "cannot prepare several statements at once; prepare each by itself")
        if name and name in self.session.spoken.prepared:
            raise SqlStateError("42P05", f"there is a prepared statement {name!r} already; close it first")
        self.session.spoken.prepared[name] = statement
        self.streams.write(messages.PARSE_COMPLETE)

    def _statement(self, name: str) -> Prepared:
        found = self.session.spoken.prepared.get(name)
        if not isinstance(found, Prepared):
            raise SqlStateError(errors.UNKNOWN_STATEMENT, f"there is no prepared statement {name!r}; prepare it first")
        return found

    def _portal(self, name: str) -> Portal:
        found = self.session.portals.get(name)
        if found is None:
            raise SqlStateError(errors.UNKNOWN_CURSOR, f"there is no portal {name!r}; bind a statement first")
        return found

    def _bind(self, body: Body) -> None:
        name, statement = body.text(), self._statement(body.text())
        self.session.portals[name] = bound(body, statement)
        self.streams.write(messages.BIND_COMPLETE)

    async def _describe(self, body: Body) -> None:
        kind, name = body.taken(1), body.text()
        if kind == b"P":
            cursor = self.session.cursors.described(name) if name not in self.session.portals else None
            if cursor is not None:
                self.streams.write(messages.row_description(cursor, [0] * len(cursor)))
            else:
                self._described = self._portal(name)
            return
        statement = self._statement(name)
        shape = await self.work(lambda: self.session.described(statement))
        self.streams.write(messages.parameter_description(shape.parameters))
        columns = None if shape.columns is None else messages.row_description(shape.columns, [0] * len(shape.columns))
        self.streams.write(messages.NO_DATA if columns is None else columns)

    async def _describe_now(self) -> None:
        """Tell what columns a portal has whose rows are not asked for yet; it is not carried out for that."""
        portal, self._described = self._described, None
        assert portal is not None, "one is to be described"
        if portal.outcome is not None:
            self.streams.write(_columns_of(portal, portal.outcome))
            return
        shape = await self.work(lambda: self.session.described(portal.statement, portal.values))
        columns = shape.columns
        self.streams.write(
            messages.NO_DATA if columns is None else messages.row_description(columns, portal.forms_of(len(columns)))
        )

    async def _execute(self, body: Body) -> None:
        portal, most = self._portal(body.text()), body.int32()
        described, self._described = self._described is portal, None
        text = portal.statement.text
        if is_blank(text.strip().rstrip(";")):
            self.streams.write((messages.NO_DATA if described else b"") + messages.EMPTY_QUERY)
            return
        word = first_word(text)
        if word in TRANSFERS and portal.values:
            text = filled_with_texts(text, portal.values)
        transfer = transfer_of(word, text)
        if transfer is not None:
            await self._transferred(transfer, described=described, forms=portal.forms)
            return
        if portal.outcome is None:
            if not await self.comes_next(_SYNC):
                self.session.begin_together()
            await self._take_turn(text)
            portal.outcome = await self.work(lambda: self.session.run(text, portal.values))
        await self._tell(portal, described=described, most=most)

    def _close(self, body: Body) -> None:
        kind, name = body.taken(1), body.text()
        if kind == b"S":
            self.session.spoken.prepared.pop(name, None)
        else:
            self.session.portals.pop(name, None)
        self.streams.write(messages.CLOSE_COMPLETE)

    # What goes.

    async def _tell(self, portal: Portal, *, described: bool, most: int = 0) -> None:
        """Send rows of a portal, at `most` so many if that is not 0, and what they are if that is to be `described`."""
        outcome = portal.outcome
        assert outcome is not None, "it was carried out"
        write = self.streams.write
        for each in outcome.notices if portal.sent == 0 else ():
            write(each)
        if described:
            write(_columns_of(portal, outcome))
        rows = outcome.rows
        if rows is None:
            write(messages.complete(outcome.tag))
            return
        begun, forms = portal.sent, portal.forms_of(rows.num_columns)
        end = min(rows.num_rows, begun + most) if most > 0 else rows.num_rows
        zone = self.session.core.settings.zone
        while portal.sent < end:
            part = rows.slice(portal.sent, min(_AT_ONCE, end - portal.sent))
            small = part.num_rows * part.num_columns <= _FEW
            write(_encoded(portal, part, forms, zone) if small else
                  await self.work(partial(_encoded, portal, part, forms, zone)))  # fmt: skip
            portal.sent += part.num_rows
            if self.streams.holds_much:
                await self.streams.send()
        is_over = portal.sent >= rows.num_rows
        write(messages.complete(outcome.tag_of(portal.sent - begun)) if is_over else messages.SUSPENDED)


def _columns_of(portal: Portal, outcome: Outcome) -> bytes:
    """What tells the columns of what a portal gives."""
    if outcome.rows is None:
        return messages.NO_DATA
    columns = outcome.described(portal.statement.shapes)
    return messages.row_description(columns, portal.forms_of(len(columns)))


def _encoded(portal: Portal, rows: pa.Table, forms: Sequence[int], zone: str) -> bytes:
    assert portal.outcome is not None, "these are its rows"
    shapes = portal.outcome.told(portal.statement.shapes)
    columns = [encoded(*each, zone) for each in zip(rows.columns, shapes, forms, strict=True)]
    return messages.data_rows(columns, rows.num_rows)
