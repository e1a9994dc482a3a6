"""EXPLAIN ANALYZE: what DuckDB does to answer a query, and what operators have done for a view."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ivm.results.result import Result
from ivm.session.core import Core
from ivm.sql.statements import Analyze
from ivm.trace.columns.arrow import array_from

_TITLES = ("operator", "updates in", "updates out", "visited", "ms")


def analyzed(core: Core, statement: Analyze, dialect: str) -> Result:
    """The answer. A query is run; BindError for a view that is unknown, or not maintained."""
    if isinstance(statement.inner, str):
        text = core.settings.names.told(_of_view(core, statement.inner))
        return Result(pa.table({"explain": array_from([text])}), as_text=True)
    from ivm.session.adhoc import asked  # noqa: PLC0415  DuckDB, which a program without SELECTs need not load

    return Result(asked(core, statement.inner, dialect, "EXPLAIN ANALYZE {}"), as_text=True)


def _of_view(core: Core, name: str) -> str:
    """A line for each operator of a maintained view, by what it has counted since it was installed. Operators that
    serve other views too have counted for all.
    """
    with core.lock:
        view = core.maintained(name).definition.name
        time, read = core.engine.time, core.relations()["ivm_operators"]()
    core.certain()
    found = [row for row in read().to_pylist() if row["view"] == view]
    rows = [
        (
            row["operator"],
            *(f"{row[each]:,}" for each in ("updates_in", "updates_out", "visited")),
            f"{row['millis']:.3f}",
        )
        for row in found
    ]
    total = sum(row["millis"] for row in found)
    head = f"view {view} at time {time}: {len(rows)} operators, {total:.3f} ms in all"
    return "\n".join([head, *_aligned([_TITLES, *rows])])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines: the first column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join([row[0].ljust(widths[0]), *(v.rjust(w) for v, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
