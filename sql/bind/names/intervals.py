"""Intervals as DuckDB writes them in the names of columns: as calls of to_days() and its like."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

_ROUNDED = {
    **dict.fromkeys(("day", "week", "month", "quarter", "year", "decade", "century", "millennium"), "INTEGER"),
    **dict.fromkeys(("hour", "minute", "microsecond"), "BIGINT"),
}
"""What the numbers of units are rounded to; seconds and milliseconds have fractions."""
_PLURALS = {"century": "centuries", "millennium": "millennia"}
_UNITS = {
    word: unit for unit in (*_ROUNDED, "second", "millisecond") for word in (unit, f"{unit}s", _PLURALS.get(unit, unit))
}


def interval_name(node: exp.Interval, named: Callable[[exp.Expr], str]) -> str | None:
    """INTERVAL .. [unit]; None of a unit that DuckDB has not."""
    if node.this is None:
        return None
    # sqlglot makes a text of a number, which then stands nowhere.
    is_number = isinstance(node.this, exp.Literal) and "start" not in node.this.meta
    amount = node.this.name if is_number else named(node.this)
    word = node.text("unit").lower()
    if not word:
        return f"CAST({amount} AS INTERVAL)"
    unit = _UNITS.get(word)
    if unit is None:
        return None
    number = f"CAST({amount} AS DOUBLE)"
    if unit in _ROUNDED:
        number = f"CAST(trunc({number}) AS {_ROUNDED[unit]})"
    return f"to_{_PLURALS.get(unit, unit + 's')}({number})"
