"""Calls of the functions that are declared, by the types that they take and give: a new one is called by itself."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import chain, zip_longest
from random import Random

import duckdb

from ivm.catalog.types import INTEGER, VARCHAR, Kind, SqlType
from ivm.sql.ir.functions import FUNCTIONS
from tests.random.kinds import KIND_OF, KINDS
from tests.random.literals import typed

_KINDS = {
    **{type_: kind.name for type_, kind in KIND_OF.items()},
    **dict.fromkeys(("BIGINT", "INTEGER", "UINTEGER", "UBIGINT", "HUGEINT"), "INT"),
    **dict.fromkeys(("BIGINT[]", "DOUBLE[]"), "LIST"),
}
"""The kind whose values are cast to a type, and to which values of that are cast."""
_VARIABLES = {"T": INTEGER, "K": VARCHAR, "V": INTEGER}
_TRIED = 6
"""How many values of each argument are tried."""


@cache
def _calls() -> dict[str, tuple[str, ...]]:
    """By the kind of what they give: the calls of all functions whose types are known, with as many arguments as may be."""
    found: dict[str, list[str]] = {}
    for function in FUNCTIONS.values():
        gives, takes = _known(function.gives), tuple(map(_known, function.takes))
        if gives and all(takes) and function.name not in _OPEN:
            for count in range(len(takes) - function.optional, len(takes) + 1):
                arguments = ", ".join(f"CAST(<{_KINDS[type_]}> AS {type_})" for type_ in takes[:count])
                for name in function.names:
                    call = _RESULTS.get(_KINDS[gives], "{}").format(f"{name}({arguments})")
                    found.setdefault(_KINDS[gives], []).append(call)
    return {kind: tuple(calls) for kind, calls in found.items()}


_OPEN = ("list_distinct", "list_intersect", "list_mode", "list_any_value")
"""Functions whose result DuckDB leaves open."""
_RESULTS = {
    "INT": "CAST({} % 1000 AS INTEGER)",
    "DBL": "round({}, 6)",
    "LIST": "CAST({} AS INTEGER[])",
    "TS": "CAST({} AS TIMESTAMP)",
}
"""What is made of a result, so that it is small, and so that nothing depends on the last digit."""


def random_call(rng: Random, kind: str) -> str:
    """A template of a call that gives the kind; "" for one that fails of some values, or if there is none."""
    call = rng.choice(_calls().get(kind, ("",)))
    return call if call and _never_fails(call) else ""


@cache
def _never_fails(call: str) -> bool:
    """Whether DuckDB computes it of the values that columns have."""
    parts = re.split("<([A-Z]+)>", call)
    places, tables = [], []
    for number, name in enumerate(parts[1::2]):
        type_ = KINDS[name].literal_type
        values = ", ".join(f"({typed(value, type_)})" for value in KINDS[name].types[type_].domain[:_TRIED])
        tables.append(f"(VALUES {values}) AS v{number}(x{number})")
        places.append(f"x{number}")
    query = "".join(chain.from_iterable(zip_longest(parts[::2], places, fillvalue="")))
    with duckdb.connect() as connection:
        try:
            connection.execute(f"SELECT {query} AS c FROM {', '.join(tables)}").fetchall()
        except (duckdb.Error, UnicodeError):  # which is what a text of bytes that are none may be told by
            return False
    return True


def _known(type_: SqlType | str) -> str:
    """The name of a type that some kind has values of, with types in the places of variables; "" of any other."""
    name = "" if isinstance(type_, str) else str(_filled(type_))
    return name if name in _KINDS else ""


def _filled(type_: SqlType) -> SqlType:
    """The type with others in the places of its variables."""
    if type_.kind is Kind.NULL:
        return _VARIABLES[type_.labels[0]]
    element = None if type_.element is None else _filled(type_.element)
    return replace(type_, element=element, fields=tuple((name, _filled(field)) for name, field in type_.fields))
