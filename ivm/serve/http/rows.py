"""GET /views, /tables, /views/NAME and /tables/NAME."""

from __future__ import annotations

import hashlib
import os

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ivm.catalog.errors import BindError, TypeMismatchError
from ivm.catalog.names import as_literal, parts_of, quoted, suggestion
from ivm.catalog.schema import Table, View
from ivm.serve.http.answers import answered, form_asked
from ivm.serve.http.desk import Desk, found
from ivm.serve.inside import Session
from ivm.session.database import core_of

_OWN = frozenset({"format", "limit", "as_of", "access_token"})
"""What is no column's name in the query of a path; `where.limit=3` means the column."""
_WHERE = "where."
_EPOCH = os.urandom(8).hex()
"""Of this process: another one may have had other rows at the same times."""


async def list_tables(desk: Desk, request: Request) -> Response:
    """The tables there are, each with its columns, primary key and number of rows."""
    session = await desk.session(request)
    tables = await desk.run(request, session, session.db.tables)
    return JSONResponse(
        [{"name": t.name, "columns": t.columns, "primary_key": t.primary_key, "rows": t.rows} for t in tables]
    )


async def list_views(desk: Desk, request: Request) -> Response:
    """The views there are, each with its columns, query and number of rows."""
    session = await desk.session(request)
    views = await desk.run(request, session, session.db.views)
    return JSONResponse(
        [
            {"name": v.name, "columns": v.columns, "sql": v.sql, "maintained": v.maintained, "rows": v.rows}
            for v in views
        ]
    )


async def read_table(desk: Desk, request: Request) -> Response:
    """The rows of a table, or some of them."""
    return await _read(desk, request, Table)


async def read_view(desk: Desk, request: Request) -> Response:
    """The rows of a view, or some of them."""
    return await _read(desk, request, View)


async def _read(desk: Desk, request: Request, kind: type[Table] | type[View]) -> Response:
    session, form, name = await desk.session(request), form_asked(request), request.path_params["name"]
    entry = found(session, name, kind)
    asked = [(key, value) for key, value in request.query_params.multi_items() if key not in _OWN]
    limit, as_of = (_number(request, each) for each in ("limit", "as_of"))
    text = f"{_version(session, entry)} {form.media} {sorted(asked)} {limit} {as_of}"
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"' if _is_known(entry) else ""
    headers = {"Ivm-Time": str(session.db.time), "Cache-Control": "no-cache", "Vary": "Accept, Authorization"}
    if tag:
        headers["ETag"] = tag
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
    columns = [field.name for field in (entry.fields if isinstance(entry, Table) else entry.schema)]
    conditions = [_condition(name, key, value, columns) for key, value in asked]
    table = await desk.run(request, session, lambda: _rows(session, name, entry, conditions, limit, as_of))
    return await answered(desk, table, form, headers)


def _rows(
    session: Session, name: str, entry: Table | View, conditions: list[str], limit: int | None, as_of: int | None
) -> pa.Table:
    """The rows that are asked for. A whole view that is maintained is read as it is, however long it is."""
    if isinstance(entry, View) and entry.maintained and not conditions:
        view = session.db.view(name)
        if as_of is not None:
            return view.arrow(as_of).slice(0, limit)
        return view.arrow() if limit is None else view.head(limit)
    if as_of is not None:
        raise BindError(f"cannot read {name} as of a time: only a maintained view without conditions can be, so far")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    some = "" if limit is None else f" LIMIT {limit}"
    return session.sql(f"SELECT * FROM {'.'.join(map(quoted, parts_of(name)))}{where}{some}").arrow()


def _condition(name: str, key: str, value: str, columns: list[str]) -> str:
    """What `column=value` means in SQL. BindError for a column that is not there."""
    column = key.removeprefix(_WHERE)
    if column not in columns:
        raise BindError(f"cannot choose rows of {name} by {column}: it has no such column{suggestion(column, columns)}")
    return f"{quoted(column)} = {as_literal(value)}"


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise TypeMismatchError(f"{name} is {given[:100]!r}, and must be a whole number")
    return int(given)


def _is_known(entry: Table | View) -> bool:
    """Whether it is known when the rows have changed; a view that is not maintained may go by the clock."""
    return isinstance(entry, Table) or entry.maintained


def _version(session: Session, entry: Table | View) -> str:
    """What is another one when rows have changed, or may have; needs no lock."""
    core = core_of(session.db)
    engine = core.engine
    store = engine.tables.get(entry.name)
    if isinstance(entry, Table) and store is not None:
        return f"{_EPOCH} {id(store)} {store.last_time} {store.count}"
    installed = engine.whole_view(entry.name)
    if installed is not None:
        return f"{_EPOCH} {id(installed)} {installed.installed_ms} {installed.log.sealed.last}"
    return f"{_EPOCH} {entry.name} {engine.time}"
