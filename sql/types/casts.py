"""Which casts there are from type to type."""

from __future__ import annotations

from dataclasses import replace

from ivm.catalog.names import by_key, key
from ivm.catalog.types import (
    BOOLEAN,
    DATE,
    JSON,
    NULL,
    TIME,
    TIMESTAMP_NS,
    TIMESTAMP_S,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
)


def castable(source: SqlType, target: SqlType) -> bool:
    """Whether there is a cast from one type to another; whether it raises depends on the value."""
    if {VARCHAR, JSON, NULL} & {source, target} or source == target:
        return True
    if {source.kind, target.kind} <= {Kind.LIST, Kind.ARRAY} and source.element and target.element:
        return castable(source.element, target.element)
    if source.is_nested or target.is_nested:
        return source.kind is target.kind and _nested_castable(source, target)
    if source.kind is Kind.ENUM:
        return True
    if source.is_moment and target.is_moment:
        return (source, target) != (TIMESTAMP_NS, TIMESTAMP_S)  # as in DuckDB
    if source.is_moment and target == TIME:
        return source not in (DATE, TIMESTAMPTZ)
    return (source.is_numeric or source == BOOLEAN) and (target.is_numeric or target == BOOLEAN)


def are_alike(one: SqlType, other: SqlType) -> bool:
    """Whether types differ in the spelling of fields' names at most."""
    return one == other or (one.is_nested and _by_keys(one) == _by_keys(other))


def _by_keys(type_: SqlType) -> SqlType:
    """The type with the keys of its fields for their names."""
    fields = tuple((key(name), _by_keys(field)) for name, field in type_.fields)
    return replace(type_, fields=fields, element=type_.element and _by_keys(type_.element))


def _nested_castable(source: SqlType, target: SqlType) -> bool:
    """Fields of structs find each other by their names, or by their places where those of one have none."""
    if source.element is not None and target.element is not None:
        return castable(source.element, target.element)
    given = by_key(source.fields)
    if "" in given or not all(name for name, _ in target.fields):
        pairs = zip(source.fields, target.fields, strict=False)
        return len(source.fields) == len(target.fields) and all(castable(one, two) for (_, one), (_, two) in pairs)
    shared = [(given[key(name)], type_) for name, type_ in target.fields if key(name) in given]
    return bool(shared) and all(castable(one, other) for one, other in shared)
