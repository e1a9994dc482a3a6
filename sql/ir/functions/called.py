"""Calls of the application's functions: called (name, condition, arguments...), where the condition is true; else NULL.

The function itself is the database's, which finds it by its name. No program can hold such a call: a function may give
another answer later, and what it once gave has to be remembered as long as its arguments are there. So
`ivm.transform.call_functions` makes each a column of an Unnest, as if it were a list of one element, which an operator
of its own carries out.
"""

from __future__ import annotations

from ivm.catalog.types import BOOLEAN, VARCHAR, SqlType, list_of
from ivm.sql.ir.functions.function import Function, Nulls, Raises
from ivm.sql.ir.scalar import TRUE, Call, Literal, Scalar, walk

CALLED = "called"

FUNCTIONS = (
    Function(
        CALLED, ("literal", BOOLEAN, "A", "..."), "R",
        nulls=Nulls.DEPENDS, makes_null=True, raises=Raises.SOMETIMES,
    ),
)  # fmt: skip


def called(name: str, args: tuple[Scalar, ...], type_: SqlType) -> Call:
    """The call of a function of the application's."""
    return Call(CALLED, (Literal(name, VARCHAR), TRUE, *args), type_)


def is_called(scalar: Scalar) -> bool:
    """Whether it is such a call."""
    return isinstance(scalar, Call) and scalar.function == CALLED


def name_of(call: Scalar) -> str:
    """The name of the function that such a call is of."""
    assert isinstance(call, Call), "it is a call"
    name = call.args[0]
    assert isinstance(name, Literal), "a function is called by its name"
    return str(name.value)


def calls(scalar: Scalar) -> bool:
    """Whether there is such a call in an expression."""
    return any(map(is_called, walk(scalar)))


def as_list(call: Call, condition: Scalar) -> Call:
    """The list of which its value is the one element, computed where the condition is true."""
    name, _, *args = call.args
    return Call(CALLED, (name, condition, *args), list_of(call.type))
