"""What SET, RESET, USE, LOAD and INSTALL do.

Most settings of DuckDB's are about how DuckDB runs, which is not a connection's to say here: they are checked, and have
no effect. Those that would change what SQL means, or what it may reach, are refused, unless they say what is so anyhow.
"""

from __future__ import annotations

import re

import duckdb

from ivm.arguments import zone_named
from ivm.catalog.errors import AccessError, UnsupportedError
from ivm.catalog.names import as_literal, key, quoted
from ivm.duck import Use, connection, told
from ivm.session.adhoc import query
from ivm.session.core import Core
from ivm.session.settings import TIME_ZONE
from ivm.sql.connection_statements import Load, Set, SetVariable
from ivm.sql.parse import parse
from ivm.sql.parse_settings import SEARCH_PATH
from ivm.sql.schemas import with_schemas
from ivm.sql.statements import Query

_MEANS = {
    "default_null_order": "write NULLS FIRST or NULLS LAST in ORDER BY",
    "null_order": "write NULLS FIRST or NULLS LAST in ORDER BY",
    "default_order": "write DESC in ORDER BY",
    "integer_division": "write // to divide integers",
    "default_collation": "declare columns as VARCHAR COLLATE NOCASE",
    **dict.fromkeys(
        ("calendar", "ieee_floating_point_ops", "order_by_non_integer_literal",
         "scalar_subquery_error_on_multiple_rows", "error_on_division_by_zero", "regex_match_operator_semantics",
         "disable_timestamptz_casts", "dialect_compatibility_mode", "current_dialect", "legacy_disable_null_type",
         "preserve_identifier_case", "pivot_limit", "binary_as_string", "table_function_identifier_conversion"),
        "leave it out",
    ),
}  # fmt: skip
"""The settings that change what SQL means, and what to do instead."""
_REACHES = re.compile(r"allow|external_access|extension|secret|filesystem|file_search|proxy|access_mode|password|user")
_LOCKED = {"lock_configuration": "true"}
"""What is so of each connection, after it was made."""


def set_to(core: Core, statement: Set) -> None:
    """Let a setting have the value. BindError and NumericError for one that it cannot have, UnsupportedError and
    AccessError as above. Cost: making an instance of DuckDB, some 20 ms, but for the search path and the
    time zone.
    """
    name, value = statement.name, statement.value
    if name == SEARCH_PATH:
        core.settings.path = core.settings.names.schemas(value or "")
        return
    if name == TIME_ZONE:
        _tell_in(core, value)
        return
    use = Use.OPEN if core.external_access else Use.CLOSED
    try:
        with connection(use, alone=True) as duck:
            before = _LOCKED.get(name, _in_force(duck, name))
            if value is None:
                return
            if _REACHES.search(name) is not None or name in _LOCKED:
                after = value.lower()
            else:
                duck.execute(f"SET {quoted(name)} = {as_literal(value)}")
                after = _in_force(duck, name) if name in _MEANS else before
    except duckdb.Error as error:
        raise told(error, use) from error
    if after == before:
        return
    what = f"cannot set {name} to {value!r}"
    if name in _MEANS:
        raise UnsupportedError(f"{what}: it would change what SQL means, of views too; {_MEANS[name]}")
    raise AccessError(
        f"{what}: what SQL text may reach says the application, with ivm.connect(external_access=...); leave it out"
    )


def _tell_in(core: Core, name: str | None) -> None:
    """From now on statements tell moments in the zone that is called so; None: in that with which it was connected."""
    zones = core.settings.values
    if name is None:
        zones.pop(TIME_ZONE, None)
    elif core.engine.is_remote:
        raise UnsupportedError(
            f"cannot set {TIME_ZONE} to {name!r}: over Spark moments are told in UTC; write x AT TIME ZONE {name!r}"
        )
    else:
        zone = zone_named(name)
        with connection(Use.CLOSED, zone=zone):  # which knows it
            zones[TIME_ZONE] = zone


def _in_force(duck: duckdb.DuckDBPyConnection, name: str) -> str:
    return str(duck.execute(f"SELECT current_setting({as_literal(name)})").fetchall()[0][0]).lower()


def set_variable(core: Core, statement: SetVariable) -> None:
    """Let getvariable() of a name give the value of an expression, as of now."""
    name, variables = key(statement.name), core.settings.variables
    if statement.text is None:
        variables.pop(name, None)
        return
    (asked,) = parse(with_schemas(f"SELECT ({statement.text}) AS value", core.settings.names))
    assert isinstance(asked, Query), "it is a SELECT"
    variables[name] = query(core, asked.text, asked.names, asked.loops)


def load(core: Core, statement: Load) -> None:
    """An extension that is there is loaded, and any other installed, if SQL text may reach it; AccessError if not."""
    use = Use.OPEN if core.external_access else Use.CLOSED
    with connection(use) as duck:
        try:
            duck.execute(f"LOAD {as_literal(statement.name)}")
        except duckdb.Error as error:
            if not core.external_access:
                raise AccessError(
                    f"cannot load extension {statement.name!r}: SQL text reaches nothing outside unless the "
                    "application allows it with ivm.connect(external_access=True)"
                ) from error
            try:
                duck.execute(statement.text)
            except duckdb.Error as other:
                raise told(other, use) from other
