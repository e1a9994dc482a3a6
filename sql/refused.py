"""Statements of SQL that the engine does not run, told by their first word, and what to do instead."""

from __future__ import annotations

import re
import sys

from ivm.sql.sql_text import SqlText

STARTS = (
    "CREATE, ALTER, DROP, COMMENT, SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, COPY, BEGIN, COMMIT, ROLLBACK, "
    "SHOW, DESCRIBE, SUMMARIZE, USE, SET, RESET, CHECKPOINT or EXPLAIN"
)
_FOREIGN_STARTS = re.compile("ATTACH|DETACH|EXPORT|GRANT|IMPORT|REFRESH|RELEASE|REVOKE|SAVEPOINT")
_INSTEAD = {
    "SAVEPOINT": "a transaction is undone as a whole, by ROLLBACK",
    "RELEASE": "a transaction is undone as a whole, by ROLLBACK",
    "ATTACH": "read the file in a SELECT where ivm.connect(external_access=True) allows it",
    "IMPORT": "read the files in a SELECT where ivm.connect(external_access=True) allows it",
    "EXPORT": "read results with .arrow() and write them with pyarrow",
    "REFRESH": "leave it out, views are always up to date",
}


def refuse_foreign(word: str, offset: int, source: SqlText) -> None:
    """UnsupportedError if the engine runs no statement that begins with `word`, which stands at `offset`."""
    if _FOREIGN_STARTS.fullmatch(word.upper()):
        instead = _INSTEAD.get(word.upper(), f"a statement begins with {STARTS}")
        source.refuse(offset, f"{word.upper()} is not supported; {instead}")


FOREIGN_FUNCTIONS = {
    "nvl": "coalesce", "iif": "if", "is_inf": "isinf", "is_nan": "isnan", "signum": "sign",
    "truncate": "trunc", "endswith": "ends_with", "startswith": "starts_with",
    "regexp_like": "regexp_matches", "sha": "sha1", "sha2": "sha256", "charindex": "strpos",
    "locate": "strpos", "str_position": "strpos", "leftpad": "lpad", "rightpad": "rpad",
    "day_of_month": "day", "day_of_week": "dayofweek", "dayofweek_iso": "isodow",
    "day_of_year": "dayofyear", "week_of_year": "week", "last_day_of_month": "last_day",
    "date_from_parts": "make_date", "datefromparts": "make_date", "timestamp_from_parts": "make_timestamp",
    "timestampfromparts": "make_timestamp", "timestamp_trunc": "date_trunc", "str_to_time": "strptime",
    "time_to_str": "strftime", "time_to_unix": "epoch", "unix_to_time": "epoch_ms", "convert": "cast",
    "date_to_date_str": "cast", "time_to_time_str": "cast", "ts_or_ds_to_date_str": "cast",
    "like": "contains",
}  # fmt: skip
"""Functions that sqlglot reads in DuckDB's dialect although DuckDB has none of that name, and what to write."""


def too_deep() -> str:
    """What is said of a text that needs more of Python's stack than there is."""
    limit = f"beyond the limit of {sys.getrecursionlimit()} calls in calls, which some 200 parentheses reach"
    return f"this is nested too deeply, {limit}; split it into views"
