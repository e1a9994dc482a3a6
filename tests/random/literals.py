"""Values as SQL text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from random import Random

import pyarrow as pa

from tests.random.kinds import KINDS, Pairs, Record, Value


def literal(value: Value) -> str:
    """A value of a column as a literal, of its type or of one that is cast to it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value!r}::DOUBLE"
        case datetime.datetime():
            return f"{'TIMESTAMPTZ' if value.tzinfo else 'TIMESTAMP'} '{value}'"
        case datetime.date():
            return f"DATE '{value}'"
        case datetime.time():
            return f"TIME '{value}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
        case pa.MonthDayNano():
            return f"INTERVAL '{value.months} months {value.days} days {value.nanoseconds // 1000} microseconds'"
        case Record(a, b):
            return f"{{'a': {literal(a)}, 'b': {literal(b)}}}"
        case Pairs():
            return f"map([{', '.join(literal(k) for k, _ in value)}], [{', '.join(literal(v) for _, v in value)}])"
        case tuple():
            return f"[{', '.join(map(literal, value))}]"
        case int() | Decimal():
            return f"({value})" if value < 0 else str(value)
        case _:
            raise TypeError(f"no literal for {value!r}")


def random_literal(rng: Random, name: str) -> str:
    """A literal of a kind; now and then NULL of its type, or one that is written in an odd way."""
    roll, kind = rng.random(), KINDS[name]
    type_ = kind.literal_type
    if roll < 0.05:
        return f"CAST(NULL AS {type_})"
    if roll < 0.15 and kind.odd:
        return f"({rng.choice(kind.odd)})"
    return typed(rng.choice(kind.types[type_].domain), type_)


def typed(value: Value, type_: str) -> str:
    """A value as an expression of the type."""
    if " COLLATE " in type_:
        return f"({literal(value)} COLLATE {type_.rpartition(' ')[2]})"
    plain = value is None or (type(value) is not float and type_ in _SAID) or type_ == "DOUBLE"
    return literal(value) if plain else f"CAST({literal(value)} AS {type_})"


_SAID = ("INTEGER", "BIGINT", "DECIMAL(9,2)", "VARCHAR", "DATE", "TIMESTAMP", "BOOLEAN", "BLOB", "INTERVAL", "TIME",
         "TIMESTAMP WITH TIME ZONE")  # fmt: skip
"""Types whose literals need no cast."""
