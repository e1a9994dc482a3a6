"""now() and its like: what time it is, as all that a commit changes sees it (see `sql.ir.clock`)."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from catalog.clock import READ
from catalog.types import DATE, TIMESTAMP, TIMESTAMPTZ, SqlType
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.ir.clock import NOW
from sql.sql_text import text_of

_KINDS: dict[type[exp.Expr], SqlType] = {
    exp.CurrentDate: DATE,
    exp.CurrentTimestamp: TIMESTAMPTZ,
    exp.Localtimestamp: TIMESTAMP,
}
_NAMES = ("now", "get_current_timestamp", "transaction_timestamp")
_WITHOUT = ("CHECK", "VALUES", "this statement")
"""Clauses that see a row alone."""


def clock_type(node: exp.Expr) -> SqlType | None:
    """The type of a call that says what time it is; None for anything else."""
    if isinstance(node, exp.Anonymous):
        return TIMESTAMPTZ if str(node.this).lower() in _NAMES and not node.expressions else None
    return _KINDS.get(type(node))


def bind_clock(binder: Binder, node: exp.Expr) -> Operand:
    """NOW(), CURRENT_DATE and the like, within a comparison, or as a value where there is no FROM."""
    type_ = clock_type(node)
    assert type_ is not None, "it is one of these"
    if binder.clause in _WITHOUT:
        refuse_clock(binder, node, "write it where rows are inserted, and compare it in a view")
    return Operand(node, binder.cast(Operand(node, NOW), type_))


def refuse_clock(binder: Binder, node: exp.Expr, instead: str) -> NoReturn:
    """UnsupportedError: it is no value of a row."""
    binder.refuse(node, f"{text_of(node)} changes without a change to a table; {instead}")


def read_in_duckdb(node: exp.Expr) -> exp.Expr:
    """What a call that says what time it is becomes in the text for DuckDB: the clock's row."""
    type_ = clock_type(node)
    read: exp.Expr = exp.maybe_parse(READ, dialect="duckdb")
    return read if type_ == NOW.type else exp.cast(read, str(type_), dialect="duckdb")


HANDLERS: dict[type[exp.Expr], Handler] = dict.fromkeys(_KINDS, bind_clock)
