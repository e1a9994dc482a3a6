"""What current_schema() and the like say to a query that DuckDB answers, whose own schemas are not those of ours."""

from __future__ import annotations

import re

import duckdb

from catalog.names import MAIN, as_literal
from ivm.session.settings import Settings

_ASKED = re.compile(r"\bcurrent_(?:schemas?|database|catalog)\b", re.IGNORECASE)


def say_where(duck: duckdb.DuckDBPyConnection, settings: Settings, text: str) -> None:
    """Have the functions say it on this connection, if the text may call them. Cost: a search."""
    if _ASKED.search(text) is None:
        return
    path = ", ".join(map(as_literal, settings.path))
    everywhere = ", ".join(map(as_literal, (MAIN, *settings.path, MAIN, MAIN, "pg_catalog")))
    database = as_literal(settings.catalog.database)
    said = {
        "current_schema()": as_literal(settings.path[0] if settings.path else MAIN),
        "current_schemas(implicit)": f"CAST(CASE WHEN implicit THEN [{everywhere}] ELSE [{path}] END AS VARCHAR[])",
        "current_database()": database,
        "current_catalog()": database,
    }
    for function, value in said.items():
        duck.execute(f"CREATE TEMP MACRO {function} AS {value}")
