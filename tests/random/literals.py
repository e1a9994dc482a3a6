"""Values as SQL text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from random import Random

from tests.random.tables import DOMAINS, Value

_TYPE = {
    "INT": "INTEGER",
    "DEC": "DECIMAL(9,2)",
    "DBL": "DOUBLE",
    "STR": "VARCHAR",
    "DATE": "DATE",
    "TS": "TIMESTAMP",
    "BOOL": "BOOLEAN",
}


def literal(value: Value) -> str:
    """A value of a column as a literal of its type."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value!r}::DOUBLE"
        case datetime.datetime():
            return f"TIMESTAMP '{value}'"
        case datetime.date():
            return f"DATE '{value}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case int() | Decimal():
            return f"({value})" if value < 0 else str(value)
        case _:
            raise TypeError(f"no literal for {value!r}")


def random_literal(rng: Random, kind: str) -> str:
    """A literal of a kind; now and then NULL of its type."""
    if rng.random() < 0.05:
        return f"CAST(NULL AS {_TYPE[kind]})"
    return literal(rng.choice(DOMAINS[_TYPE[kind]]))
