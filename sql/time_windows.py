"""TUMBLE, HOP and SESSION: rows with the windows of time that they are in, as the queries that these stand for.

They are macros of tables that are always there. So the engine maintains, and DuckDB answers, the same plain SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.calendar import DAY
from ivm.catalog.macro import Macro, Macros, Overload, Parameter, RelationParameter
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query
from ivm.sql.types.calendar import interval

_BUCKET = """
    SELECT *, time_bucket(size, timecol) AS window_start, time_bucket(size, timecol) + size AS window_end
    FROM data WHERE timecol IS NOT NULL
"""
_START = "time_bucket(slide, timecol) - to_microseconds(ivm_hop * ivm_micros)"
_HOPS = f"""
    SELECT * EXCLUDE (ivm_hop), {_START} AS window_start, {_START} + size AS window_end
    FROM data, range(0, ivm_count) AS ivm_hops (ivm_hop) WHERE timecol < {_START} + size
"""
_SESSIONS = """
    SELECT * EXCLUDE (ivm_begin, ivm_end), max(ivm_begin) OVER (ivm_key ORDER BY timecol) AS window_start,
        min(ivm_end) OVER (ivm_key ORDER BY timecol DESC) + gap AS window_end
    FROM (
        SELECT *,
            CASE WHEN timecol - lag(timecol) OVER (ivm_key ORDER BY timecol) <= gap
                THEN NULL ELSE timecol END AS ivm_begin,
            CASE WHEN lead(timecol) OVER (ivm_key ORDER BY timecol) - timecol <= gap
                THEN NULL ELSE timecol END AS ivm_end
        FROM data WHERE timecol IS NOT NULL
    )
"""
MOST_HOPS = 10_000
"""A row is in no more windows."""


def _macro(name: str, *overloads: tuple[tuple[str, ...], str]) -> Macro:
    forms = (
        Overload((RelationParameter("data"), *(Parameter(each) for each in names)), body.strip())
        for names, body in overloads
    )
    return Macro(name, True, tuple(forms))


_MACROS = (
    _macro("TUMBLE", (("timecol", "size"), _BUCKET)),
    _macro("HOP", (("timecol", "slide", "size"), _HOPS)),
    _macro(
        "SESSION",
        (("timecol", "gap"), _SESSIONS.replace("ivm_key ", "")),
        (("timecol", "gap", "key"), _SESSIONS.replace("ivm_key", "PARTITION BY key")),
    ),
)

WINDOWS: Macros = {macro.key: macro for macro in _MACROS}
"""By their keys, as other macros."""


def with_hops(overload: Overload, values: Mapping[str, str]) -> Overload:
    """The form of HOP with how far its windows are apart, and in how many a row is.

    ValueError for intervals of which windows cannot be made.
    """
    slide, size = _micros(values["slide"]), _micros(values["size"])
    count = -(-size // slide)
    if count > MOST_HOPS:
        raise ValueError(f"a row would be in {count} windows, and {MOST_HOPS} is the limit; give a larger slide")
    return replace(overload, body=overload.body.replace("ivm_micros", str(slide)).replace("ivm_count", str(count)))


def _micros(text: str) -> int:
    """The length of a constant interval of days and less, over zero."""
    items = query(SqlText(f"SELECT {text}"), "duckdb").tree.expressions
    node = items[0].unnest()
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        raise ValueError(f"{text} is no constant INTERVAL; write INTERVAL '15 minutes'")
    unit = node.args.get("unit")
    found = interval(node.this.name) if unit is None else interval(f"{node.this.name} {unit.name}")
    length = found.days * DAY + found.micros
    if found.months or length <= 0:
        raise ValueError(f"{text} is not over zero, or has months; give days, hours, minutes or seconds")
    return length
