"""Calls that DuckDB computes, and the text by which it is asked for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ivm.catalog.names import quoted
from ivm.catalog.types import JSON, VARCHAR, Kind, SqlType
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.functions.nested import PLACE
from ivm.sql.ir.scalar import Call

CASTS = frozenset(("cast", "try_cast"))
_PLACE = re.compile(PLACE.format(r"(\d+)"))


def is_asked(call: Call) -> bool:
    """Whether DuckDB computes a call."""
    return is_asked_cast(call) or function_of(call.function).asked is not None


def keeps_codes(source: SqlType, target: SqlType) -> bool:
    """Whether values of both are kept alike: a UUID or JSON as its text, an array as a list."""
    if target.kind is Kind.VARCHAR:
        return source.kind in (Kind.UUID, Kind.JSON)
    return (source.kind, target.kind) == (Kind.ARRAY, Kind.LIST) and source.element == target.element


def is_asked_cast(call: Call) -> bool:
    """Whether DuckDB is asked for a cast: of lists, structs and maps, and of JSON, whose text is there."""
    if call.function not in CASTS:
        return False
    given, wanted = call.args[0].type, call.type
    if given.kind is Kind.NULL or keeps_codes(given, wanted):
        return False
    return given.is_nested or wanted.is_nested or wanted == JSON or (given == JSON and wanted != VARCHAR)


def with_arguments(text: str, argument: Callable[[int], str]) -> str:
    """A text that is `written`, with each argument, by its number from 1 on, in its place."""
    return _PLACE.sub(lambda place: argument(int(place[1])), text)


def asked_as(call: Call) -> str:
    """What DuckDB calls the function, of a call that `is_asked`."""
    return call.function if call.function in CASTS else str(function_of(call.function).asked)


def asked_text(function: str, arguments: Sequence[str], type_: SqlType, text: str) -> str:
    """What DuckDB is asked: a function by its name, of arguments that are written so that each has its type.

    A function that is `written` is the `text`, which takes the place of its first argument.
    """
    if function in CASTS:
        return f"{function}({arguments[0]} AS {type_})"
    is_text = function == "written"
    call = with_arguments(text, arguments.__getitem__) if is_text else f"{quoted(function)}({', '.join(arguments)})"
    # Outside, the cast changes nothing but where DuckDB gives a number a type that depends on its value.
    return f"CAST({call} AS {type_})"
