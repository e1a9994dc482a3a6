"""The types that a user writes: in CREATE TABLE and in casts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ivm.catalog.names import twice
from ivm.catalog.types import (
    BIGINT,
    BLOB,
    INTEGER,
    MAX_DIGITS,
    MOST_IN_ARRAY,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPS,
    TIMESTAMPTZ,
    UBIGINT,
    UINTEGER,
    USMALLINT,
    UTINYINT,
    VARCHAR,
    Kind,
    SqlType,
    array_of,
    decimal,
    list_of,
    map_of,
    struct_of,
)
from ivm.sql.sql_text import SqlText, text_of

_D = exp.DType


def _written(name: str) -> exp.DType:
    return exp.DataType.build(name, dialect="duckdb").this


_TYPES: dict[exp.DType, SqlType] = {
    **{
        _written(kind.value): SqlType(kind)
        for kind in Kind
        if kind not in (Kind.NULL, Kind.DECIMAL, Kind.ENUM, Kind.LIST, Kind.ARRAY, Kind.STRUCT, Kind.MAP)
    },
    **dict.fromkeys((_D.TIMESTAMP, _D.TIMESTAMPNTZ, _D.DATETIME), TIMESTAMP),
    _D.TIMESTAMPLTZ: TIMESTAMPTZ,
    **dict.fromkeys((_D.TEXT, _D.VARCHAR, _D.CHAR, _D.NCHAR, _D.NVARCHAR, _D.BPCHAR), VARCHAR),
    **dict.fromkeys((_D.VARBINARY, _D.BINARY, _D.BLOB), BLOB),
}
_BY_BITS: dict[str, SqlType] = {
    **{f"int{bits}": type_ for bits, type_ in ((16, SMALLINT), (32, INTEGER), (64, BIGINT))},
    **{f"uint{bits}": type_ for bits, type_ in ((8, UTINYINT), (16, USMALLINT), (32, UINTEGER), (64, UBIGINT))},
}
"""Names of DuckDB that sqlglot does not know."""

_INSTEAD = {
    _D.UINT128: "HUGEINT, or UBIGINT",
    _D.BIT: "BLOB, a BIGINT with & and |, or VARCHAR of its digits",
    _D.TIMETZ: "TIME",
    **dict.fromkeys((_D.UNION, _D.VARIANT), "VARCHAR, filled by to_json(..), or columns of its parts"),
}
_DEFAULT_DECIMAL = (18, 3)
_SUPPORTED = (
    "BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, UTINYINT, USMALLINT, UINTEGER, UBIGINT, DECIMAL(p,s), "
    "FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMPTZ, VARCHAR, JSON, BLOB, "
    "UUID, ENUM('a', 'b'), INTEGER[] and other lists, STRUCT(a INTEGER, b VARCHAR) or MAP(VARCHAR, INTEGER)"
)


def declared_type(node: exp.DataType, source: SqlText, what: str, at: exp.Expr | None = None) -> SqlType:
    """The type that `node` writes; `what` begins the messages, such as "column 'a'", and `at` gives their position.

    UnsupportedError, with what to write, for a type that the engine does not hold; BindError for a DECIMAL of no
    or more than 38 digits or of more decimals than digits, an ENUM without labels or with one twice, and a STRUCT
    without fields or with a name twice.
    """
    kind = node.this
    if kind == _D.DECIMAL:
        return _decimal(node, source, what, at or node)
    if kind == _D.ENUM:
        return _enum(node, source, what, at or node)
    if kind in _NESTED:
        return _NESTED[kind](node, source, what, at or node)
    if kind == _D.USERDEFINED and str(node.args.get("kind")).lower() in _BY_BITS:
        return _BY_BITS[str(node.args["kind"]).lower()]
    name = text_of(node)
    # Lengths of text are read and, as DuckDB does, not enforced.
    if kind in _TYPES and (not node.expressions or _TYPES[kind] == VARCHAR):
        return _TYPES[kind]
    if kind in _TYPES and _TYPES[kind] == TIMESTAMP and (digits := _digits(node)) is not None:
        return TIMESTAMPS[-(-digits // 3)]
    instead = _INSTEAD.get(kind, _SUPPORTED)
    if kind in _TYPES:
        instead = f"{_TYPES[kind]}, without parentheses"
    source.refuse(at or node, f"{what} has type {name}, which is not supported; write {instead}")


def is_type(name: str) -> bool:
    """Whether SQL has a type of that name."""
    try:
        kind = exp.DataType.build(name, dialect="duckdb", udt=True).this
    except SqlglotError:
        return False
    return kind != _D.USERDEFINED or name.lower() in _BY_BITS


def _digits(node: exp.DataType) -> int | None:
    """The decimals of the seconds of a TIMESTAMP(3), of which nine count at most; None if they are no number."""
    written = [param.name for param in node.expressions]
    return min(int(written[0]), 9) if len(written) == 1 and written[0].isdecimal() else None


def _decimal(node: exp.DataType, source: SqlText, what: str, at: exp.Expr) -> SqlType:
    written = [param.this if isinstance(param, exp.DataTypeParam) else param for param in node.expressions]
    if len(written) > 2 or not all(isinstance(param, exp.Literal) and param.is_int for param in written):
        what = f"{what} has type {text_of(node)}; write DECIMAL(p,s) with the numbers of digits and of decimals"
        source.fail(at, what)
    digits = [int(param.name) for param in written]
    if len(digits) == 1:
        digits.append(0)
    precision, scale = digits or _DEFAULT_DECIMAL
    if not 1 <= precision <= MAX_DIGITS or not 0 <= scale <= precision:
        limits = f"a DECIMAL has 1 to {MAX_DIGITS} digits, and at most as many of them are decimals"
        source.fail(at, f"{what} has type DECIMAL({precision},{scale}), but {limits}")
    return decimal(precision, scale)


def _enum(node: exp.DataType, source: SqlText, what: str, at: exp.Expr) -> SqlType:
    labels = tuple(label.name for label in node.expressions if isinstance(label, exp.Literal) and label.is_string)
    if not labels or len(labels) != len(node.expressions):
        source.fail(at, f"{what} is an ENUM; write its labels as texts: ENUM('a', 'b')")
    twice = next((label for label, times in Counter(labels).items() if times > 1), None)
    if twice is not None:
        source.fail(at, f"{what} is an ENUM with the label {twice!r} twice; write it once")
    return SqlType(Kind.ENUM, labels=labels)


def _list(node: exp.DataType, source: SqlText, what: str, at: exp.Expr) -> SqlType:
    if len(node.expressions) != 1:
        source.fail(at, f"{what} is a list; write the type of its elements: INTEGER[]")
    element, sizes = _within(node.expressions[0], source, what, at), node.args.get("values")
    if not sizes:
        return list_of(element)
    size = int(sizes[0].name) if sizes[0].name.isdecimal() else 0
    if not 1 <= size <= MOST_IN_ARRAY:
        source.fail(
            at, f"{what} is an array of {text_of(sizes[0])} elements; write how many it has, 1 to {MOST_IN_ARRAY:,}"
        )
    return array_of(element, size)


def _struct(node: exp.DataType, source: SqlText, what: str, at: exp.Expr) -> SqlType:
    fields = node.expressions
    if not fields or not all(isinstance(field, exp.ColumnDef) and field.args.get("kind") for field in fields):
        source.fail(at, f"{what} is a STRUCT; write its fields as STRUCT(a INTEGER, b VARCHAR)")
    again = twice(field.name for field in fields)
    if again is not None:
        source.fail(at, f"{what} is a STRUCT with the field {again!r} twice; name each field once")
    return struct_of((field.name, _within(field.args["kind"], source, what, at)) for field in fields)


def _map(node: exp.DataType, source: SqlText, what: str, at: exp.Expr) -> SqlType:
    if len(node.expressions) != 2:
        source.fail(at, f"{what} is a MAP; write the types of its keys and values: MAP(VARCHAR, INTEGER)")
    keys, values = (_within(each, source, what, at) for each in node.expressions)
    return map_of(keys, values)


def _within(node: exp.Expr, source: SqlText, what: str, at: exp.Expr) -> SqlType:
    if not isinstance(node, exp.DataType):
        source.fail(at, f"{what} is made of {text_of(node)}, which is no type; write one such as INTEGER")
    return declared_type(node, source, what, at)


_NESTED: dict[exp.DType, Callable[[exp.DataType, SqlText, str, exp.Expr], SqlType]] = {
    _D.ARRAY: _list,
    _D.LIST: _list,
    _D.STRUCT: _struct,
    _D.MAP: _map,
}
