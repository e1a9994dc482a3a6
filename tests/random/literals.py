"""Values as SQL text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from random import Random

from tests.random.tables import DOMAINS, Record, Value

_TYPE = {
    "INT": "INTEGER",
    "DEC": "DECIMAL(9,2)",
    "DBL": "DOUBLE",
    "STR": "VARCHAR",
    "DATE": "DATE",
    "TS": "TIMESTAMP",
    "BOOL": "BOOLEAN",
    "LIST": "INTEGER[]",
    "REC": "STRUCT(a INTEGER, b VARCHAR)",
    "ARR": "INTEGER[2]",
}

_ODD: dict[str, tuple[str, ...]] = {
    "INT": ("+1", "- 1", "1_0", "1e0::INTEGER", "'  2 '::INTEGER", "2.5::INTEGER", "true::INTEGER", "-(-1)", "((2))",
            "0003", "3::TINYINT::INTEGER"),
    "DEC": (".25", "1.", "+0.25", "1e0::DECIMAL(9,2)", "'1.005'::DECIMAL(9,2)", "0.999::DECIMAL(9,2)", "1.0000",
            "'1e-1'::DECIMAL(9,2)"),
    "DBL": ("1e0", "5E-1", ".5::DOUBLE", "'1e0'::DOUBLE", "1e+0", "-1.5e0", "2::DOUBLE"),
    "STR": ("'it''s'", "e'a\\tb'", "'\U0001f600'", "'a\nb'", "'a\\b'", "'%'", "'_'", "' a '", "'a--b'", "'a;b'", "'/* a */'",
            "'\"'", "'{x}'", "'?'", "'$1'"),
    "DATE": ("DATE '2020-1-31'", "'2020-02-29'::DATE", "DATE '2020/03/01'", "'2020-01-31 '::DATE",
             "TIMESTAMP '2020-01-31 12:00:00'::DATE"),
    "TS": ("TIMESTAMP '2020-02-29'", "TIMESTAMP '2020-02-29T12:30:00'", "'2020-02-29 12:30'::TIMESTAMP",
           "TIMESTAMP '2020-02-29 12:30:00.5'", "DATE '2020-01-31'::TIMESTAMP"),
    "LIST": ("list_value(1, 2)", "ARRAY[1]", "'[1, 2]'::INTEGER[]", "[x + 1 for x in [0, 1]]", "[1, 2, 3][:2]", "range(2)::INTEGER[]"),
    "REC": ("struct_pack(a := 1, b := 'a')", "row(1, 'b')::STRUCT(a INTEGER, b VARCHAR)", "{'A': 2, 'b': NULL::VARCHAR}"),
    "ARR": ("array_value(1, 2)", "'[0, 1]'::INTEGER[2]", "[1, NULL]::INTEGER[2]"),
    "BOOL": ("TRUE", "'t'::BOOLEAN", "1::BOOLEAN", "NOT false", "(1 = 1)", "(NULL IS NULL)"),
}  # fmt: skip
"""Literals as some people write them."""


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
        case Record(a, b):
            return f"CAST({{'a': {literal(a)}, 'b': {literal(b)}}} AS STRUCT(a INTEGER, b VARCHAR))"
        case tuple():
            return f"CAST([{', '.join(map(literal, value))}] AS INTEGER[])"
        case int() | Decimal():
            return f"({value})" if value < 0 else str(value)
        case _:
            raise TypeError(f"no literal for {value!r}")


def random_literal(rng: Random, kind: str) -> str:
    """A literal of a kind; now and then NULL of its type, or one that is written in an odd way."""
    roll = rng.random()
    if roll < 0.05:
        return f"CAST(NULL AS {_TYPE[kind]})"
    if roll < 0.15:
        return f"({rng.choice(_ODD[kind])})"
    return literal(rng.choice(DOMAINS[_TYPE[kind]]))
