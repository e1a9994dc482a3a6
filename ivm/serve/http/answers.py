"""Rows as an answer: JSON, JSON lines, CSV or Arrow, as `?format=` or Accept says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from starlette.requests import HTTPConnection
from starlette.responses import Response, StreamingResponse

from ivm.catalog.errors import TypeMismatchError
from ivm.results.written import csv_parts, json_lines, json_parts
from ivm.serve.http.desk import Desk

_FEW = 10_000
"""So many rows are written at once; more as the client takes them."""


@dataclass(frozen=True, slots=True)
class Form:
    """What an answer is written in: its media type, and what writes a table in pieces."""

    media: str
    write: Callable[[pa.Table], Iterator[bytes]]


def form_asked(asked: HTTPConnection) -> Form:
    """The form that a request asks for; TypeMismatchError for one that there is not."""
    name = asked.query_params.get("format")
    if name is not None:
        if name not in FORMS:
            raise TypeMismatchError(f"format is {name!r}, and must be one of {', '.join(FORMS)}")
        return FORMS[name]
    for each in asked.headers.get("accept", "*/*").split(","):
        media = each.partition(";")[0].strip().lower()
        found = next((form for form in FORMS.values() if media in (form.media, "*/*", _group(form.media))), None)
        if found is not None:
            return found
    known = ", ".join(form.media for form in FORMS.values())
    raise TypeMismatchError(f"cannot answer in {asked.headers['accept'][:200]}; accept one of {known}, or add ?format=")


async def answered(desk: Desk, table: pa.Table, form: Form, headers: Mapping[str, str]) -> Response:
    """The answer that these rows are."""
    if table.num_rows <= _FEW:
        body = await desk.aside(lambda: b"".join(form.write(table)))
        return Response(body, headers=headers, media_type=form.media)
    return StreamingResponse(form.write(table), headers=headers, media_type=form.media)


def _group(media: str) -> str:
    return media.partition("/")[0] + "/*"


def _texts(write: Callable[[pa.Table], Iterator[str]]) -> Callable[[pa.Table], Iterator[bytes]]:
    return lambda table: (part.encode() for part in write(table))


class _Pieces:
    """A file that is read away as it is written."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def flush(self) -> None:
        """Nothing: all is in memory."""

    def taken(self) -> bytes:
        found, self._written = b"".join(self._written), []
        return found


def _arrow(table: pa.Table) -> Iterator[bytes]:
    """As a stream of Arrow's IPC format."""
    pieces = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(pieces, "w"), table.schema) as writer:
        for batch in table.to_batches(1 << 16):
            writer.write_batch(batch)
            yield pieces.taken()
    yield pieces.taken()


ARROW = Form("application/vnd.apache.arrow.stream", _arrow)
FORMS: Mapping[str, Form] = {
    "json": Form("application/json", _texts(json_parts)),
    "jsonl": Form("application/jsonl", _texts(json_lines)),
    "csv": Form("text/csv", _texts(csv_parts)),
    "arrow": ARROW,
}
"""All forms, by what `?format=` calls them; the first is that of who does not care."""
