"""What calls of Flight do: queries, prepared statements, transactions, rows that come, views and their changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import flight

from ivm.catalog.errors import AccessError, Error, UnsupportedError
from ivm.results.result import tuples_of
from ivm.serve.errors import BusyError, CancelledError, DeniedError, LimitError, NotFoundError, TooLongError
from ivm.serve.flight.call_limit import CallLimit
from ivm.serve.flight.handles import Everything, Prepared
from ivm.serve.flight.ingest import ingest
from ivm.serve.flight.messages import Message, command, wrapped, written
from ivm.serve.flight.metadata import ANSWERS
from ivm.serve.flight.streams import streamed
from ivm.serve.flight.who import caller
from ivm.serve.inside import Inside, Session, log
from ivm.serve.users import User

T = TypeVar("T")
_RESULT = b"\x00result:"
_ACTIONS = ("BeginTransaction", "EndTransaction", "CreatePreparedStatement", "ClosePreparedStatement")


class _Call(threading.local):
    """The call that a thread carries out, and the sessions that work for it."""

    context: Any = None
    sessions: list[Session]
    ending: list[Session]
    """Those that end with the call."""


class Calls:
    """Carries out calls, each in a thread of the server's."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self.held = Everything()
        self._places = CallLimit(inside.settings.limits.connections)
        self._call = _Call()

    def server(self, location: str, **options: Any) -> Any:
        """A server, which listens already."""
        return _Server(self, location, options)

    def told(self, work: Callable[[User], T], context: Any) -> T:
        """Do something for who calls; errors are told as Flight has them."""
        self._call.context, self._call.sessions, self._call.ending = context, [], []
        try:
            with self._places.one():
                return work(caller(self.inside.gate, context))
        except Error as error:
            log.info("refused a call of Flight: %s", error)
            raise as_flight(error) from None
        finally:
            for each in self._call.sessions:
                each.gone = None
            self._call.context = None
            for each in self._call.ending:
                each.close()

    def _for_call(self, session: Session) -> Session:
        """A session whose statements end with the client of this thread's call."""
        session.gone = self._call.context.is_cancelled
        self._call.sessions.append(session)
        return session

    def asked(self, user: User, descriptor: Any) -> Any:
        """What there is to fetch, and how; a query has been answered by then."""
        if descriptor.descriptor_type != flight.DescriptorType.CMD:
            name = b".".join(descriptor.path).decode()
            schema = self.inside.session(user).db.view(name).schema
            return flight.FlightInfo(schema, descriptor, [flight.FlightEndpoint(name.encode(), [])], -1, -1)
        table = self._answer(user, *command(descriptor.command))
        ticket = _RESULT + self.held.results.put(user.name, table)
        endpoint = flight.FlightEndpoint(ticket, [])
        return flight.FlightInfo(table.schema, descriptor, [endpoint], table.num_rows, table.nbytes)

    def fetched(self, user: User, ticket: bytes, context: Any) -> Any:
        """The rows of a result, once; or of a view, or its changes as they come."""
        if ticket.startswith(_RESULT):
            return flight.RecordBatchStream(self.held.results.take(user.name, ticket.removeprefix(_RESULT)))
        return streamed(self.inside, self._places, self.inside.session(user), ticket, context)

    def put(self, user: User, descriptor: Any, reader: Any, writer: Any) -> None:
        """Rows that come: for a table, or the parameters of a statement."""
        name, asked = command(descriptor.command)
        match name:
            case "CommandStatementUpdate":
                session = self._session(user, asked.bytes(2))
                writer.write(written({1: session.sql(asked.text(1) or "").rowcount}))
            case "CommandPreparedStatementQuery":
                self.held.prepared.get(user.name, asked.bytes(1)).rows = tuples_of(self._received(reader))
                writer.write(written({1: asked.bytes(1)}))
            case "CommandPreparedStatementUpdate":
                prepared = self.held.prepared.get(user.name, asked.bytes(1))
                self._for_call(prepared.session)
                writer.write(written({1: _run_all(prepared, tuples_of(self._received(reader)))}))
            case "CommandStatementIngest":
                session = self._session(user, asked.bytes(6))
                writer.write(written({1: ingest(session, asked, self._received(reader))}))
            case _:
                raise UnsupportedError(
                    f"cannot carry out {name}: rows come for statements and CommandStatementIngest alone"
                )

    def act(self, user: User, kind: str, body: bytes) -> Iterator[bytes]:
        """Transactions, and prepared statements."""
        if kind not in _ACTIONS:
            raise UnsupportedError(f"cannot carry out the action {kind}; there are {', '.join(_ACTIONS)}")
        _, asked = command(body)
        match kind:
            case "BeginTransaction":
                session = self.inside.session(user)
                session.sql("BEGIN")
                handle = self.held.transactions.put(user.name, session)
                return iter((wrapped("ActionBeginTransactionResult", {1: handle}),))
            case "EndTransaction":
                session = self.held.transactions.take(user.name, asked.bytes(1))
                self._call.ending.append(session)
                session.sql("COMMIT" if asked.number(2) == 1 else "ROLLBACK")
            case "CreatePreparedStatement":
                of = asked.bytes(2)
                session = self.held.transactions.get(user.name, of) if of else self.inside.session(user)
                prepared = Prepared(asked.text(1) or "", session, is_of_transaction=bool(of))
                handle = self.held.prepared.put(user.name, prepared)
                return iter((wrapped("ActionCreatePreparedStatementResult", {1: handle}),))
            case _:
                self.held.prepared.take(user.name, asked.bytes(1)).close()
        return iter(())

    def _answer(self, user: User, name: str, asked: Message) -> pa.Table:
        if name == "CommandStatementQuery":
            return self._session(user, asked.bytes(2)).sql(asked.text(1) or "").arrow()
        if name == "CommandPreparedStatementQuery":
            prepared = self.held.prepared.get(user.name, asked.bytes(1))
            return (
                self._for_call(prepared.session).sql(prepared.text, prepared.rows[0] if prepared.rows else None).arrow()
            )
        if name not in ANSWERS:
            raise UnsupportedError(f"cannot answer {name}; ask by SQL, or one of {', '.join(ANSWERS)}")
        return ANSWERS[name](self.inside.session(user), asked)

    def _session(self, user: User, transaction: bytes) -> Session:
        """That of a transaction; one of its own, which ends with the call, for who has none."""
        if transaction:
            return self._for_call(self.held.transactions.get(user.name, transaction))
        session = self.inside.session(user)
        self._call.ending.append(session)
        return self._for_call(session)

    def _received(self, reader: Any) -> pa.Table:
        """All rows that come. LimitError for too much."""
        most, size, batches = self.inside.settings.limits.request_bytes, 0, []
        for chunk in reader:
            size += chunk.data.nbytes
            if size > most:
                raise LimitError(
                    f"cannot take more than {most:,} bytes at once; send less, or serve with a larger limit of bytes"
                )
            batches.append(chunk.data)
        return pa.Table.from_batches(batches, reader.schema)


def _run_all(prepared: Prepared, rows: list[tuple[object, ...]]) -> int:
    """Run a statement for each row of parameters, all or none; how many rows it changed."""
    session = prepared.session
    if len(rows) <= 1:
        return session.sql(prepared.text, rows[0] if rows and rows[0] else None).rowcount
    begins = not session.db.in_transaction
    if begins:
        session.sql("BEGIN")
    try:
        changed = sum(max(session.sql(prepared.text, row).rowcount, 0) for row in rows)
        if begins:
            session.sql("COMMIT")
        return changed
    finally:
        if begins:
            session.roll_back()


def as_flight(error: Error) -> Exception:
    """An error as Flight has it: of the nearest of its kinds, with its words."""
    text = str(error)
    match error:
        case DeniedError():
            return flight.FlightUnauthenticatedError(text)
        case AccessError():
            return flight.FlightUnauthorizedError(text)
        case TooLongError():
            return flight.FlightTimedOutError(text)
        case BusyError():
            return flight.FlightUnavailableError(text)
        case CancelledError():
            return flight.FlightCancelledError(text)
        case NotFoundError():
            return pa.ArrowKeyError(text)
        case UnsupportedError():
            return pa.ArrowNotImplementedError(text)
        case _:
            return flight.FlightServerError(text)  # Arrow's own errors would tell where in these files it was


class _Server(flight.FlightServerBase):  # type: ignore[misc]
    """What pyarrow calls, by the names that it has for it."""

    def __init__(self, calls: Calls, location: str, options: dict[str, Any]) -> None:
        self._calls = calls
        super().__init__(location, **options)

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        return self._calls.told(lambda user: self._calls.asked(user, descriptor), context)

    def get_schema(self, context: Any, descriptor: Any) -> Any:
        return flight.SchemaResult(self.get_flight_info(context, descriptor).schema)

    def do_get(self, context: Any, ticket: Any) -> Any:
        return self._calls.told(lambda user: self._calls.fetched(user, ticket.ticket, context), context)

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        self._calls.told(lambda user: self._calls.put(user, descriptor, reader, writer), context)

    def do_action(self, context: Any, action: Any) -> Any:
        body = action.body.to_pybytes()
        return self._calls.told(lambda user: self._calls.act(user, action.type, body), context)
