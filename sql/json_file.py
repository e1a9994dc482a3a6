"""The rows of a file of JSON objects, as COPY reads them: the SELECT that does, in DuckDB's dialect.

DuckDB reads a JSON number with a point or an exponent as a DOUBLE, and a text as what it says; so a DECIMAL goes by its
text, and a number that may have had more digits than a DOUBLE keeps is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ivm.catalog.errors import BindError
from ivm.catalog.names import as_literal, key, quoted, suggestion
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import Kind, SqlType
from ivm.sql.cast_text import REFUSED
from ivm.sql.statements import Copy

_EXACT_DIGITS = 15
"""So many decimal digits a DOUBLE keeps."""
_OF_VALUES = ("dateformat", "timestampformat")
_BY_TEXT = (Kind.BLOB, Kind.ENUM, Kind.DECIMAL)


def keys(copy: Copy) -> str:
    """The query of the distinct keys of a file's objects; NULL if it holds what is no object. Cost: reads it all."""
    found = "unnest(CASE json_type(json) WHEN 'OBJECT' THEN json_keys(json) ELSE [NULL] END)"
    return f"SELECT DISTINCT {found} AS name FROM ({objects(copy)}) ORDER BY ALL"


def objects(copy: Copy) -> str:
    """The query of a file's values, as texts of JSON, in their order."""
    options = "".join(f", {each}" for each in _options(copy) if not each.startswith(_OF_VALUES))
    return f"SELECT json FROM read_json_objects({as_literal(copy.path)}{options})"


def keys_of(copy: Copy, table: Table, columns: Sequence[Field], found: Sequence[str | None]) -> dict[str, str]:
    """For each of the columns that the file has its key there, found in any case.

    BindError for a key that two of the file's are, or, unless the statement names its columns, none of the table's.
    """
    what, known = f"cannot copy into table {table.name}: the file holds", dict[str, str]()
    names = {key(field.name): field.name for field in columns}
    for each in found:
        if each is None:
            raise BindError(f'{what} JSON that is no objects; write rows such as {{"{columns[0].name}": ..}}')
        name = names.get(key(each))
        if name is None and not copy.columns:
            near = suggestion(each, [field.name for field in table.fields])
            wanted = ", ".join(field.name for field in columns)
            raise BindError(
                f"{what} objects with {each!r}, which is no column{near}; name the columns that are wanted, "
                f"COPY {table.name} ({wanted})"
            )
        if name in known:
            raise BindError(f"{what} objects with {known[name]!r} and with {each!r}, one column; rename one")
        if name is not None:
            known[name] = each
    return known


def json_rows(copy: Copy, columns: Sequence[Field], names: Mapping[str, str]) -> str:
    """The SELECT of a file's `columns`, by their keys there; of one that the file has not NULL."""
    types = ", ".join(
        f"{as_literal(names[f.name])}: {as_literal(_read_as(f.type))}" for f in columns if f.name in names
    )
    values = [f"{_value(f, names[f.name])} AS {quoted(f.name)}" if f.name in names else "NULL" for f in columns]
    if not types:
        return f"SELECT {', '.join(values)} WHERE false"
    options = [f"columns = {{{types}}}", "records = true", *_options(copy)]
    return f"SELECT {', '.join(values)} FROM read_json({as_literal(copy.path)}, {', '.join(options)})"


def _options(copy: Copy) -> list[str]:
    formats = {"true": "format = 'array'", "false": "format = 'auto'"}
    return [formats[text.lower()] if name == "array" else f"{name} = {text}" for name, text in copy.options]


def _read_as(type_: SqlType) -> str:
    if _may_lose_digits(type_):
        return "JSON"
    return "VARCHAR" if type_.kind in _BY_TEXT else str(type_)


def _may_lose_digits(type_: SqlType) -> bool:
    return type_.kind is Kind.DECIMAL and type_.precision > _EXACT_DIGITS


def _value(field: Field, name: str) -> str:
    if not _may_lose_digits(field.type):
        return quoted(name)
    text = f"({quoted(name)} ->> '$')"
    number = f"json_type({quoted(name)}) = 'DOUBLE' AND regexp_matches({text}, '[.e]')"
    large = f"abs(CAST({text} AS DOUBLE)) >= 1e{_EXACT_DIGITS - field.type.scale}"
    refusal = as_literal(
        f"{REFUSED} a JSON number of more than {_EXACT_DIGITS} digits into column {field.name}: DuckDB would round it; "
        "write it as a text, in quotes, as CAST(.. AS VARCHAR) does"
    )
    return f"CASE WHEN {number} THEN CASE WHEN {large} THEN error({refusal}) ELSE {text} END ELSE {text} END"
