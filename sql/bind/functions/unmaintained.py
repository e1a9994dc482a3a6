"""Functions that no view can hold: their value changes by itself, or is not one of the row."""

from __future__ import annotations

from sqlglot import exp

from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.sql_text import text_of

_CLOCK = "keep a table of one row with the present date or time, join with it, and update it when time has moved on"
_CHANCE = "draw the value when a row is inserted and store it in a column"
_NUMBERED = "number the rows where they are inserted and store the number in a column"
_SESSION = "write the value as a literal"

CHANGING: dict[str, str] = {
    **dict.fromkeys(
        ("now", "today", "get_current_timestamp", "get_current_time", "current_localtimestamp", "current_localtime",
         "transaction_timestamp", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
         "getdate", "sysdate", "clock_timestamp", "statement_timestamp"), _CLOCK,
    ),
    **dict.fromkeys(("random", "rand", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "newid"), _CHANCE),
    **dict.fromkeys(("nextval", "currval", "lastval", "txid_current"), _NUMBERED),
    **dict.fromkeys(("current_user", "session_user", "user", "version", "current_setting", "current_schema",
                     "current_database", "current_catalog", "getvariable", "getenv"), _SESSION),
}  # fmt: skip
"""Functions whose value changes without a change to a table, by name, and what to do instead."""

REFUSED: dict[str, str] = {
    "age": "ages are INTERVALs; write date_diff('year', a, b), or subtract dates",
    "pg_typeof": "write typeof(x)",
    "hash": "its values differ between versions; write md5(x)",
    "error": "leave the rows out with WHERE",
    "to_timestamp": "timestamps have no time zone here; write epoch_ms(1000 * x) for x whole seconds",
    "iff": "write if(condition, a, b)",
    "isnull": "write x IS NULL",
    "date": "write CAST(x AS DATE)",
    "to_date": "write CAST(strptime(x, '%Y-%m-%d') AS DATE)",
    "to_char": "write strftime(x, '%Y-%m-%d')",
    "dateadd": "write x + INTERVAL (n) DAY",
    "unnest": "rows are not made of lists; keep one row for each item",
}
"""Functions that are refused, by name, and what to do instead."""


def refuse(binder: Binder, node: exp.Expr, name: str) -> None:
    """UnsupportedError if the function is one of those above."""
    if name in CHANGING:
        written = text_of(node)
        binder.refuse(node, f"{written} changes without a change to a table; {CHANGING[name]}")
    if name in REFUSED:
        binder.refuse(node, f"the function {name}() is not supported; {REFUSED[name]}")


def _refusing(name: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        refuse(binder, node, name)
        raise AssertionError(name)

    return bind


HANDLERS: dict[type[exp.Expr], Handler] = {
    **{kind: _refusing(name) for name in CHANGING if (kind := exp.FUNCTION_BY_NAME.get(name.upper())) is not None},
    exp.CurrentVersion: _refusing("version"),
}
