"""POST /tables/NAME: rows to insert, upsert or delete, in one commit."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.schema import Table
from ivm.intake.documents import What, documents
from ivm.intake.formats import Format
from ivm.serve.http.answers import ARROW
from ivm.serve.http.desk import Desk, found
from ivm.trace.rows.table_store import Mode

_MODES: dict[str, Mode] = {"insert": "diff", "upsert": "upsert", "delete": "diff"}
_OF_ARROW, _OF_JSON = ("rows", "changes"), ("json", "debezium")
"""The formats that may come as Arrow, and as JSON."""
_DIFF = "_diff"


async def change_table(desk: Desk, request: Request) -> Response:
    """Commit the rows that a request holds, all or none: JSON, JSON lines, or a stream of Arrow's.

    `?mode=insert` (or none), `upsert`, or `delete`; `?format=` as `Database.apply` has it. `Batch: name/number` makes a
    batch that is sent again count once.
    """
    session, name = await desk.session(request), request.path_params["name"]
    found(session, name, Table)
    mode, form, batch = request.query_params.get("mode", "insert"), _format(request), _batch(request)
    if mode not in _MODES:
        raise TypeMismatchError(f"mode is {mode!r}, and must be one of {', '.join(_MODES)}")
    body = await desk.body(request)

    def commit() -> int:
        rows: Any = _arrow(body) if form in _OF_ARROW else body
        return session.db.apply(
            {name: _deleted(rows, name) if mode == "delete" else rows}, mode=_MODES[mode], format=form, batch=batch
        )

    time = await desk.run(request, session, commit)
    return JSONResponse({"time": time}, headers={"Ivm-Time": str(time)})


def _format(request: Request) -> Format:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    known = _OF_ARROW if media == ARROW.media else _OF_JSON
    named = request.query_params.get("format", known[0])
    if named not in known:
        raise TypeMismatchError(
            f"format is {named!r}, and must be one of {', '.join(known)} for Content-Type {media!r}; {ARROW.media} "
            f"has {', '.join(_OF_ARROW)}"
        )
    return cast(Format, named)


def _batch(request: Request) -> tuple[str, int] | None:
    given = request.headers.get("batch")
    if given is None:
        return None
    name, slash, number = given.rpartition("/")
    if not slash or not name or not number.isascii() or not number.isdigit():
        raise TypeMismatchError(f"Batch is {given[:100]!r}, and must be a source's name and a number: orders/4711")
    return name, int(number)


def _arrow(body: bytes) -> pa.Table:
    try:
        return pa.ipc.open_stream(body).read_all()
    except pa.ArrowException as error:
        raise TypeMismatchError(
            f"cannot read the request: it is no stream of Arrow's: {error}; nothing was done"
        ) from error


def _deleted(rows: Any, name: str) -> Any:
    """The same rows, to go: what `_diff` they have is not asked."""
    if isinstance(rows, pa.Table):
        kept = rows.drop_columns([_DIFF]) if _DIFF in rows.column_names else rows
        return kept.append_column(_DIFF, pa.array([-1] * rows.num_rows, pa.int64()))
    what = What(name, "row")
    objects = documents(rows, what)
    for place, each in enumerate(objects):
        if not isinstance(each, dict):
            raise what.at(place, "is no JSON object")
    return [each | {_DIFF: -1} for each in objects]
