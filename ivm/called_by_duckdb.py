"""The application's functions where DuckDB calls them: in SELECTs, in changes, and for the oracle."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from ivm.called import Functions, Remembered, Row
from ivm.catalog.function import PythonFunction
from ivm.catalog.names import as_literal
from ivm.catalog.zones import UTC
from ivm.duck import Use, connection, lock
from ivm.trace.columns.python_values import array_of, python_values, values_of


@contextmanager
def connection_with(
    functions: Functions,
    called: Sequence[PythonFunction],
    use: Use,
    known: Remembered | None = None,
    zone: str = UTC,
    without: str = "",
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to DuckDB on which the functions `called` are there; see `let_call`, and `ivm.duck.connection`.

    `without`: an optimizer of DuckDB's that does nothing there. Cost: where there are any of these, that of an instance
    of its own, some tens of milliseconds.
    """
    with connection(use, alone=bool(called or without), zone=zone) as duck:
        if without:
            duck.execute(f"SET disabled_optimizers = {as_literal(without)}")
        let_call(duck, functions, called, known)
        if called:
            lock(duck)
        yield duck


def let_call(
    duck: duckdb.DuckDBPyConnection,
    functions: Functions,
    called: Iterable[PythonFunction],
    known: Remembered | None = None,
) -> None:
    """Have these functions on a connection to an instance of its own. They answer what is `known`, else what is
    remembered now, else what they say.
    """
    for function in called:
        _let_call(duck, function, functions.answering(function, known))


def _let_call(
    duck: duckdb.DuckDBPyConnection, function: PythonFunction, answered: Callable[[Sequence[Row]], list[Any]]
) -> None:
    """By arrays of Arrow's, of which DuckDB gives NULLs, too; without arguments, by none."""

    def of_arrays(*arrays: pa.Array) -> pa.Array:
        columns = [_python(array, place, function) for place, array in enumerate(arrays)]
        return array_of(answered(list(zip(*columns, strict=True))), function.gives)

    make: Any = duck.create_function  # whose types know of no text of a type but some
    said = {"null_handling": "special", "side_effects": function.side_effects}
    takes, gives = function.takes, str(function.gives)
    if takes == ():
        make(function.name, lambda: answered([()])[0], [], gives, **said)
        return
    if takes is not None:  # DuckDB counts them
        names = [inspect.Parameter(f"x{place}", inspect.Parameter.POSITIONAL_ONLY) for place in range(len(takes))]
        of_arrays.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    make(function.name, of_arrays, None if takes is None else list(map(str, takes)), gives, type="arrow", **said)


def _python(array: pa.Array, place: int, function: PythonFunction) -> list[Any]:
    name = f"argument {place + 1} of {function.name}()"
    if function.takes is not None:
        return values_of(array, function.takes[place], name)
    return python_values(pa.chunked_array([array]), name)
