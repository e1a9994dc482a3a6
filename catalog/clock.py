"""The table of the clock: one row, the time of the last commit or tick. It is there once a view has asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from ivm.catalog.names import key, quoted
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import INTEGER, TIMESTAMPTZ

OWN = "ivm_"
"""How names begin that are the engine's own."""

CLOCK = Table(
    f"{OWN}clock",
    (Field("id", INTEGER, nullable=False), Field("now", TIMESTAMPTZ, nullable=False)),
    ("id",),
    replicated=True,
)
NOW_COLUMN = 1
READ = f"(SELECT {quoted(CLOCK.fields[NOW_COLUMN].name)} FROM {quoted(CLOCK.name)})"
"""How texts for DuckDB read it."""


def is_own(name: str) -> bool:
    """Whether a name is the engine's own, which nobody else gives, drops or changes."""
    return key(name).startswith(OWN)


def in_duckdb(now: int) -> Iterator[str]:
    """What tells DuckDB, on one connection, that it is `now`, in microseconds since 1970."""
    moment = f"make_timestamptz({now})"
    for names, value in _TOLD.items():
        for name in names:
            yield f"CREATE TEMP MACRO {name}() AS {value.format(moment)}"
    age = "system.main.age"
    yield f"CREATE TEMP MACRO age(x) AS {age}(CAST(today() AS TIMESTAMP), x), (x, y) AS {age}(x, y)"


_TOLD = {
    ("now", "get_current_timestamp", "transaction_timestamp"): "{}",
    ("current_localtimestamp",): "CAST({} AS TIMESTAMP)",
    ("current_localtime",): "CAST(CAST({} AS TIMESTAMP) AS TIME)",
    ("current_date", "today"): "CAST({} AS DATE)",
}
"""What DuckDB calls the functions that say what time it is, and their values."""
