"""What current_schema(), getvariable() and the like say to a query that DuckDB answers, which knows no connection's
settings.
"""

from __future__ import annotations

import re

import duckdb

from ivm.catalog.names import MAIN, as_literal, quoted
from ivm.duck import offer
from ivm.session.settings import Settings

_ASKED = re.compile(r"\bcurrent_(?:schemas?|database|catalog|setting\s*\(\s*'(?:schema|search_path)')", re.IGNORECASE)
_VARIABLES = re.compile(r"\bgetvariable\b", re.IGNORECASE)
_VALUE = "ivm value"
_PATHS = "lower(setting) IN ('schema', 'search_path')"


def say_where(duck: duckdb.DuckDBPyConnection, settings: Settings, text: str) -> None:
    """Have the functions say it on this connection, if the text may call them. Cost: a search."""
    if settings.variables and _VARIABLES.search(text) is not None:
        for name, value in list(settings.variables.items()):
            offer(duck, _VALUE, value)
            duck.execute(f"SET VARIABLE {quoted(name)} = (SELECT value FROM {quoted(_VALUE)})")
    if _ASKED.search(text) is None:
        return
    path = ", ".join(map(as_literal, settings.path))
    everywhere = ", ".join(map(as_literal, (MAIN, *settings.path, MAIN, MAIN, "pg_catalog")))
    database = as_literal(settings.names.catalog.database)
    said = {
        "current_schema()": as_literal(settings.path[0] if settings.path else MAIN),
        "current_schemas(implicit)": f"CAST(CASE WHEN implicit THEN [{everywhere}] ELSE [{path}] END AS VARCHAR[])",
        "current_database()": database,
        "current_catalog()": database,
    }
    if settings.path:  # such a setting need be none of the instance's
        place = ",".join(settings.path)
        other = "system.main.current_setting(setting)"
        said["current_setting(setting)"] = f"CASE WHEN {_PATHS} THEN {as_literal(place)} ELSE {other} END"
    for function, value in said.items():
        duck.execute(f"CREATE TEMP MACRO {function} AS {value}")
