"""The scalar functions of the IR, each declared once: what it takes and gives, when it is NULL or raises, its range.

Whatever the binder, the analyses, the transforms and the renderer want to know of a function by its name, they ask
here, and a name that is not declared raises: there are no defaults for names that a list forgot. The other half of a
declaration is the function's body, in `ivm.render.scalars.bodies`, by the same name; that table raises when it is
imported if either half is missing.

How to add a scalar function:

1. A line in one of the files beside this one declares it. With `names`, SQL calls it by these, and the types alone say
   how its arguments are bound: any integer for BIGINT, any number for DOUBLE, and so on. If it is written in another
   way or if its type follows from its arguments, a handler in `ivm.sql.bind.functions` makes the call.
   A function that DuckDB computes for us is a line of `asked.py`, and that is all.
2. A body in a file of `ivm.render.scalars.bodies` computes it; see there for the kinds of bodies.
3. A case in `tests/scalars/functions.py` compares it with DuckDB, and a line in `tests/sql/scalars.txt` its binding.

A call's arguments have exactly the types that are declared here, since the binder has inserted every cast.
"""

from __future__ import annotations

from ivm.catalog.errors import UnsupportedError
from ivm.sql.ir.functions import asked, called, intervals, json, logic, moments, nested, numbers, series, texts
from ivm.sql.ir.functions.function import Function, NotFoldableError, Nulls, Raises
from ivm.sql.ir.scalar import Call, Literal

__all__ = [
    "DIRECTIONS",
    "FUNCTIONS",
    "MIRRORED",
    "NEGATED",
    "Function",
    "NotFoldableError",
    "Nulls",
    "Raises",
    "function_of",
    "is_null_of_null",
]

_FAMILIES = (numbers, logic, moments, intervals, texts, series, nested, json, asked, called)
_ALL: tuple[Function, ...] = tuple(function for family in _FAMILIES for function in family.FUNCTIONS)

FUNCTIONS = {f.name: f for f in _ALL}
"""All scalar functions by name."""

MIRRORED = {f.name: f.mirrored for f in FUNCTIONS.values() if f.mirrored is not None}
"""For each comparison f the g with f(a, b) = g(b, a)."""

NEGATED = {f.name: f.negated for f in FUNCTIONS.values() if f.negated is not None}
"""For each comparison f the g with NOT f(a, b) = g(a, b)."""

DIRECTIONS = {"lt": -1, "le": -1, "ge": 1, "gt": 1}
"""Of each comparison that leaves one side of a bound: where it lies from there."""


def function_of(name: str) -> Function:
    """The declaration of a function; UnsupportedError if there is none."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise UnsupportedError(f"cannot evaluate {name}: the engine has no such function")
    return found


def is_null_of_null(call: Call) -> bool:
    """Whether a call is NULL where any argument is that may vary."""
    nulls = function_of(call.function).nulls
    if nulls is Nulls.FIRST:
        return all(isinstance(arg, Literal) and arg.value is not None for arg in call.args[1:])
    return nulls is Nulls.ANY
