"""Functions that the application has written in Python: how they are declared, and let go of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, get_type_hints
from uuid import UUID as UUID_

from ivm.arguments import one_of
from ivm.called import check_same
from ivm.catalog.errors import BindError, Error, TypeMismatchError, UnsupportedError
from ivm.catalog.function import PythonFunction
from ivm.catalog.names import key, listed, suggestion
from ivm.catalog.types import Kind, SqlType
from ivm.session.core import Core
from ivm.sql.python_functions import calls_by_name, type_written


def declared(
    name: Any,
    function: Any,
    parameters: Any = None,
    return_type: Any = None,
    *,
    type: Any = "native",
    null_handling: Any = "default",
    exception_handling: Any = "default",
    side_effects: bool = False,
) -> PythonFunction:
    """The function that is declared so; see `Database.create_function`. TypeMismatchError for what is none."""
    what = f"cannot create function {name!r}"
    if not isinstance(name, str) or not name:
        raise TypeMismatchError(f"a function is called by its name, a str, not by {name!r}")
    if not callable(function):
        raise TypeMismatchError(f"{what}: it is a {_kind(function)}, which cannot be called; give a function")
    one_of(type, ("native", "arrow"), "type")
    one_of(null_handling, ("default", "special"), "null_handling")
    one_of(exception_handling, ("default", "return_null"), "exception_handling")
    if not isinstance(side_effects, bool):
        raise TypeMismatchError(f"side_effects is {side_effects!r}, and must be True or False")
    takes, gives = _types(what, function, parameters, return_type)
    if gives.kind in (Kind.ENUM, Kind.NULL):
        raise UnsupportedError(f"{what}: it gives {gives}; give VARCHAR, and cast it in the query")
    return PythonFunction(
        name, takes, gives, function, type == "arrow", side_effects,
        null_handling == "special", exception_handling == "return_null",
    )  # fmt: skip


def declared_all(functions: Mapping[str, Any]) -> list[PythonFunction]:
    """The functions that are declared by their names, each as it is, or as a dict of what `declared` takes."""
    if not isinstance(functions, Mapping):
        raise TypeMismatchError(f"functions are given by their names, as a dict, not as a {_kind(functions)}")
    found = []
    for name, given in functions.items():
        try:
            found.append(declared(name, **given) if isinstance(given, Mapping) else declared(name, given))
        except TypeError as error:
            raise TypeMismatchError(f"cannot create function {name!r}: {error}; see db.create_function") from None
    return found


def create_function(core: Core, function: PythonFunction) -> None:
    """Have a function. BindError if there is one of its name, DuckDB's, a macro or another of the application's."""
    what, name = f"cannot create function {function.name!r}", key(function.name)
    if core.functions.refusal:
        raise UnsupportedError(f"{what}: {core.functions.refusal}")
    with core.definitions:
        core.begin_defining(None)
        there = core.functions.declared.get(name)
        if there is not None and there.function is None:
            _check_expected(core, function, there)
        elif there is not None:
            raise BindError(f"{what}: there is one of that name; remove it first, or choose another name")
        if (False, name) in core.catalog.macros:
            raise BindError(f"{what}: there is a macro of that name; drop it, or choose another name")
        _check_name(what, function.name)
        core.functions.declared[name] = function


def _check_expected(core: Core, function: PythonFunction, expected: PythonFunction) -> None:
    """BindError if views call another function of that name, which was not given yet."""
    callers = core.functions.callers(key(expected.name))
    if callers:
        check_same(function, expected.signature, callers)


def remove_function(core: Core, name: Any) -> None:
    """Forget a function. BindError if there is none, or if views call it."""
    found = core.functions.declared.get(key(name)) if isinstance(name, str) else None
    if found is None:
        known = suggestion(name, (each.name for each in core.functions.declared.values())) if name else ""
        raise BindError(f"cannot remove function {name!r}: there is none of that name{known}")
    with core.definitions:
        core.begin_defining(None)
        users = core.functions.callers(key(found.name))
        if users:
            raise BindError(
                f"cannot remove function {found.name!r}: {listed('view', users)} "
                f"call{'s' if len(users) == 1 else ''} it; drop that first"
            )
        core.functions.declared.pop(key(name), None)


def _check_name(what: str, name: str) -> None:
    """BindError for the name of a function of DuckDB's; UnsupportedError for one that is read in another way."""
    from ivm.duck import Use, connection  # noqa: PLC0415  which takes a while to import

    with connection(Use.OWN) as duck:
        taken = duck.execute("SELECT 1 FROM duckdb_functions() WHERE lower(function_name) = ?", [key(name)]).fetchone()
    if taken is not None:
        raise BindError(f"{what}: DuckDB has a function of that name; choose another name")
    if not calls_by_name(name):
        raise UnsupportedError(f"{what}: in SQL that name stands for something else; choose another name")


def _types(
    what: str, function: Callable[..., Any], parameters: Any, return_type: Any
) -> tuple[tuple[SqlType, ...] | None, SqlType]:
    """What a function takes and gives, by what is given, else by its annotations."""
    hints = _hints(function)
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a builtin
        given = None
    any_number = given is None or any(each.kind is each.VAR_POSITIONAL for each in given)
    if return_type is None and "return" not in hints:
        raise TypeMismatchError(f"{what}: nothing says what it gives; give return_type, or annotate the function")
    gives = _type(what, hints["return"] if return_type is None else return_type)
    if parameters is not None:
        if isinstance(parameters, str) or not isinstance(parameters, Sequence):
            raise TypeMismatchError(f"{what}: parameters is {parameters!r}, and must be a list of types")
        if given is not None and not any_number and not _needed(given) <= len(parameters) <= len(given):
            raise TypeMismatchError(f"{what}: {len(parameters)} types are given, and it takes {len(given)} arguments")
        return tuple(_type(what, each) for each in parameters), gives
    if given is None or any_number:
        return None, gives
    missing = [each.name for each in given if each.name not in hints]
    if missing:
        raise TypeMismatchError(
            f"{what}: nothing says of what type {', '.join(missing)} is; give parameters, or annotate the function"
        )
    return tuple(_type(what, hints[each.name]) for each in given), gives


def _needed(given: Sequence[inspect.Parameter]) -> int:
    """How many arguments have no default."""
    return sum(each.default is each.empty for each in given)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (TypeError, NameError, AttributeError):
        return {}


def _type(what: str, given: Any) -> SqlType:
    """A type as SQL writes it, as DuckDB's own, or as Python's."""
    written = _OF_PYTHON.get(given) if isinstance(given, type) else given if isinstance(given, str) else None
    if written is None:
        written = _duckdb_type(what, given)
    try:
        return type_written(written)
    except Error as error:
        raise error.__class__(f"{what}: {error}") from None


def _duckdb_type(what: str, given: Any) -> str:
    from duckdb.sqltypes import DuckDBPyType  # noqa: PLC0415  which takes a while to import

    try:
        return str(DuckDBPyType(given))
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeMismatchError(
            f"{what}: {given!r} is no type; give one as SQL writes it, such as 'INTEGER'"
        ) from error


_OF_PYTHON: Mapping[object, str] = {
    date: "DATE", datetime: "TIMESTAMP", time: "TIME", timedelta: "INTERVAL", UUID_: "UUID",
}  # fmt: skip
"""Those of Python's types that DuckDB does not know by themselves."""


def _kind(value: Any) -> str:
    return type(value).__name__
