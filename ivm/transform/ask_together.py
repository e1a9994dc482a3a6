"""What DuckDB computes of what DuckDB computes is asked for at once: `CAST(j->>'$.a[*]' AS INTEGER[])`.

What is in between then makes no way to us and back, which takes longer than both, most of all for lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ivm.catalog.types import JSON, VARCHAR
from ivm.sql.ir.asking import CASTS, asked_as, asked_text, is_asked
from ivm.sql.ir.functions.nested import PLACE
from ivm.sql.ir.rebuild import scalars_of, with_scalars
from ivm.sql.ir.relation import Relation
from ivm.sql.ir.scalar import Call, Literal, Scalar, walk
from ivm.transform.rewrite import bottom_up


@bottom_up
def ask_together(relation: Relation) -> Relation:
    """Write a call of DuckDB's over others, each of which nobody else reads, as one text."""
    scalars = tuple(scalars_of(relation))
    if not any(_inner(arg) for scalar in scalars for part in walk(scalar) for arg in _args(part)):
        return relation
    together = _Together(scalars)
    return with_scalars(relation, together.of)


class _Together:
    """The calls of a node, of which it is known how often each is read."""

    def __init__(self, scalars: Iterable[Scalar]) -> None:
        self._reads = Counter(set(scalars))
        for call in {part for scalar in set(self._reads) for part in walk(scalar) if isinstance(part, Call)}:
            self._reads.update(set(call.args))

    def of(self, scalar: Scalar) -> Scalar:
        """An expression in which no call could be asked for together with one that it reads."""
        if not isinstance(scalar, Call):
            return scalar
        if not _outer(scalar) or not any(map(self._goes_along, scalar.args)):
            return Call(scalar.function, tuple(map(self.of, scalar.args)), scalar.type, scalar.nullable)
        arguments: list[Scalar] = []
        text = self._text(scalar, arguments)
        return Call("written", (Literal(text, VARCHAR), *arguments), scalar.type, scalar.nullable)

    def _text(self, call: Call, arguments: list[Scalar]) -> str:
        """The text of a call, of which `arguments` are the arguments; those that are found are added."""
        places = []
        for arg in call.args:
            if isinstance(arg, Call) and self._goes_along(arg):
                places.append(self._text(arg, arguments))
            elif call.function == "written" and arg is call.args[0]:
                places.append("")  # of the text itself
            else:
                arguments.append(self.of(arg))
                places.append(PLACE.format(len(arguments)))
        text = str(call.args[0].value) if call.function == "written" and isinstance(call.args[0], Literal) else ""
        return asked_text(asked_as(call), places, call.type, text)

    def _goes_along(self, scalar: Scalar) -> bool:
        return _inner(scalar) and self._reads[scalar] == 1


_APART = ("timezone", "written in zone")
"""The first is mostly looked up, and the second is computed where another zone is set."""


def _args(scalar: Scalar) -> tuple[Scalar, ...]:
    return scalar.args if isinstance(scalar, Call) and _outer(scalar) else ()


def _inner(scalar: Scalar) -> bool:
    """Whether it can be asked for as part of another call."""
    return isinstance(scalar, Call) and is_asked(scalar) and asked_as(scalar) not in _APART


def _outer(call: Call) -> bool:
    """Whether parts of it can be asked for with it. A text that is to be JSON is looked at alone, and is there."""
    return _inner(call) and not (call.function in CASTS and call.type == JSON and call.args[0].type == VARCHAR)
