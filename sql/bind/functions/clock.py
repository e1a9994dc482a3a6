"""now() and its like: what time it is, as all that a commit changes sees it (see `ivm.sql.ir.clock`)."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from ivm.catalog.clock import READ
from ivm.catalog.types import DATE, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.clock import NOW
from ivm.sql.sql_text import text_of

_KINDS: dict[type[exp.Expr], SqlType] = {
    exp.CurrentDate: DATE,
    exp.CurrentTimestamp: TIMESTAMPTZ,
    exp.Localtimestamp: TIMESTAMP,
    exp.Localtime: TIME,
}
_NAMES = {
    **dict.fromkeys(("now", "get_current_timestamp", "transaction_timestamp"), TIMESTAMPTZ),
    "current_localtime": TIME,
}
_WITHOUT = ("CHECK", "VALUES")
"""Clauses that see a row alone."""


def clock_type(node: exp.Expr) -> SqlType | None:
    """The type of a call that says what time it is; None for anything else."""
    if isinstance(node, exp.Anonymous):
        return None if node.expressions else _NAMES.get(str(node.this).lower())
    return _KINDS.get(type(node))


def bind_clock(binder: Binder, node: exp.Expr) -> Operand:
    """NOW(), CURRENT_DATE and the like."""
    type_ = clock_type(node)
    assert type_ is not None, "it is one of these"
    if binder.clause in _WITHOUT:
        refuse_clock(binder, node, "write it where rows are inserted, and compare it in a view")
    now = Operand(node, NOW)
    return Operand(node, binder.cast(Operand(node, binder.cast(now, TIMESTAMP)) if type_ == TIME else now, type_))


def refuse_clock(binder: Binder, node: exp.Expr, instead: str) -> NoReturn:
    """UnsupportedError: it is no value of a row."""
    binder.refuse(node, f"{text_of(node)} changes without a change to a table; {instead}")


def read_in_duckdb(node: exp.Expr) -> exp.Expr:
    """What a call that says what time it is becomes in the text for DuckDB: the clock's row."""
    type_ = clock_type(node)
    read: exp.Expr = exp.maybe_parse(READ, dialect="duckdb")
    if type_ == NOW.type:
        return read
    read = exp.cast(read, str(TIMESTAMP), dialect="duckdb") if type_ == TIME else read
    return exp.cast(read, str(type_), dialect="duckdb")


HANDLERS: dict[type[exp.Expr], Handler] = dict.fromkeys(_KINDS, bind_clock)
