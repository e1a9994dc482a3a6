"""What computes a function: its body, by which the interpreter evaluates it, and by which a fused loop does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.writer import Steps
from ivm.sql.ir.scalar import Call


@dataclass(frozen=True, slots=True)
class Body:
    """The body of the function `name`.

    Attributes:
        steps: the one form for both, from the values of the arguments to that of the function, in expressions that
            mean the same of whole columns as of one row; NotCompiledError for calls of which it has none.
        values: the arguments whose values `steps` takes; the others are literals, which it reads from the call, or what
            it asks the script for on the rows that need it. None: all of them.
        strict: how the interpreter maps the columns of these arguments, where that is not by `steps`; None for a call
            that it has no other way for. Without `steps`, it computes the call before a loop runs.
        narrow: `steps` computes nothing that could leave 32 bits, so that such columns need not be widened.
        by_code: of texts it asks only whether they are equal, or are there.
    """

    name: str
    steps: Steps | None = None
    values: tuple[int, ...] | None = None
    strict: Callable[[Call, Context], Apply | None] | None = None
    narrow: bool = False
    by_code: bool = False

    def places(self, call: Call) -> tuple[int, ...]:
        """The arguments whose values are taken."""
        return tuple(range(len(call.args))) if self.values is None else self.values
