"""Values of JSON as the columns of a table take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.catalog.types import Kind, SqlType
from ivm.intake.documents import What, documents

_NO_NUMBERS = ("nan", "inf", "-inf")
"""Texts that JSON has in the place of numbers."""
Maker = Callable[[Any], Any]
"""What makes of a value that is not NULL one that a column takes, or leaves it as it is, to be judged by the column."""


class Makers(dict[str, Maker | None]):
    """What makes the values of each column, by its name in any case; None where nothing is to be done."""

    def __init__(self, of_keys: Mapping[str, Maker]) -> None:
        """`of_keys`: by the keys of names."""
        super().__init__()
        self._of_keys = of_keys

    def __missing__(self, name: str) -> Maker | None:
        found = self[name] = self._of_keys.get(key(str(name)))
        return found


def json_rows(data: Any, table: Table) -> list[dict[str, Any]]:
    """The rows that JSON objects are, by the names of columns; see `documents`. TypeMismatchError for other values."""
    what = What(table.name, "row")
    makers = Makers({key(field.name): make for field in table.fields if (make := maker_of(field.type)) is not None})
    rows = []
    for place, each in enumerate(documents(data, what)):
        if not isinstance(each, Mapping):
            shown = "null" if each is None else f"of type {type(each).__name__}"
            raise what.at(place, f'is {shown}, and no JSON object; write {{"{table.fields[0].name}": ..}}')
        rows.append(made(each, makers))
    return rows


def made(row: Mapping[str, Any], makers: Makers) -> dict[str, Any]:
    """The row with what the makers make of its values."""
    return {
        name: value if value is None or (make := makers[name]) is None else make(value) for name, value in row.items()
    }


def complete(rows: Sequence[Mapping[str, Any]], table: Table) -> list[Mapping[str, Any]]:
    """The rows, the first one with NULL in columns that none has, where those may be NULL and have no DEFAULT."""
    there = {key(str(name)) for name in {name for row in rows for name in row}}
    lacking = [
        field.name
        for field in table.given
        if key(field.name) not in there and field.nullable and table.default(field.name) is None
    ]
    return [{**rows[0], **dict.fromkeys(lacking)}, *rows[1:]] if rows and lacking else list(rows)


def maker_of(type_: SqlType) -> Maker | None:
    """What makes a column's value of one of JSON; None where nothing is to be done."""
    if type_.kind in (Kind.DOUBLE, Kind.FLOAT):
        return lambda value: float(value) if isinstance(value, Decimal) or value in _NO_NUMBERS else value
    return decimal_of if type_.kind is Kind.DECIMAL else None


def decimal_of(value: Any) -> Any:
    """A number as a Decimal, a float as the shortest one that prints it; texts are left to be read."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Decimal(repr(value))
