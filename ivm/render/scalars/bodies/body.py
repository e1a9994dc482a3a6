"""What computes a function: its body, by which the interpreter evaluates it, and by which a fused loop does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ivm.render.scalars.functions import Apply, Context, Lazy
from ivm.render.scalars.writer import Steps, Value, Writer
from sql.ir.scalar import Call, Scalar

EmitScalar = Callable[[Writer, Scalar], Value]
"""Writes an expression's lines into a loop."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of the function `name`.

    Attributes:
        steps: the one form for both, from the values of the arguments to that of the function, in expressions that
            mean the same of whole columns as of one row; NotCompiledError for calls of which it has none.
        literals: so many arguments at the beginning are literals, which `steps` reads from the call.
        strict: how the interpreter maps the columns of the arguments, where that is not by `steps`; None for a call
            that it has no other way for.
        lazy: how the interpreter evaluates a function that decides on which rows it evaluates its arguments.
        loop: how a loop computes what the interpreter has a `strict` form for; without it and without `steps`, the
            interpreter computes the call before the loop runs.
        lazy_loop: how a loop computes what the interpreter has a `lazy` form for.
        narrow: `steps` computes nothing that could leave 32 bits, so that such columns need not be widened.
        by_code: of texts it asks only whether they are equal, or are there.
    """

    name: str
    steps: Steps | None = None
    literals: int = 0
    strict: Callable[[Call, Context], Apply | None] | None = None
    lazy: Lazy | None = None
    loop: Callable[[Writer, Call, list[Value]], Value] | None = None
    lazy_loop: Callable[[Writer, Call, EmitScalar], Value] | None = None
    narrow: bool = False
    by_code: bool = False
