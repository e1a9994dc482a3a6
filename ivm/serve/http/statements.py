"""POST /sql: statements, with parameters, in the session of one request."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ivm.catalog.errors import TypeMismatchError
from ivm.serve.http.answers import answered, form_asked
from ivm.serve.http.desk import Desk, read_json


async def run_sql(desk: Desk, request: Request) -> Response:
    """Run the statements of a text, or of `{"sql": .., "params": [..] | {..}}`; the rows that the last one answers.

    What it has begun and not committed when the last one has ended is rolled back.
    """
    session, form = await desk.session(request), form_asked(request)
    text, params = _asked(request, await desk.body(request))
    result = await desk.run(request, session, lambda: session.sql(text, params))
    return await answered(
        desk, result.arrow(), form, {"Ivm-Time": str(desk.inside.db.time), "Cache-Control": "no-store"}
    )


def _asked(request: Request, body: bytes) -> tuple[str, Any]:
    """The text and the parameters of a request. TypeMismatchError."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media in ("text/plain", "application/sql"):
        try:
            return body.decode(), None
        except UnicodeDecodeError as error:
            raise TypeMismatchError(f"cannot read the statement: it is not UTF-8: {error}") from error
    asked = read_json(body)
    if not isinstance(asked, dict) or not isinstance(asked.get("sql"), str) or not asked.keys() <= {"sql", "params"}:
        raise TypeMismatchError(
            'cannot read the request: it must be {"sql": "..", "params": [..]}, where params may be left out, or '
            "a text of Content-Type application/sql"
        )
    if not isinstance(params := asked.get("params"), list | dict | None):
        raise TypeMismatchError(f"params are {type(params).__name__}, and must be an array, or an object for $name")
    return asked["sql"], params
