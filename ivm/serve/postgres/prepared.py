"""Statements and portals of the extended protocol: what Parse and Bind name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ivm.serve.postgres.decoding import given
from ivm.serve.postgres.errors import PROTOCOL, SqlStateError
from ivm.serve.postgres.messages import Body
from ivm.serve.postgres.outcome import Outcome
from ivm.serve.postgres.types import TEXT, Shape, type_named
from sql.parameters import parameters_in


@dataclass(slots=True)
class Prepared:
    """A statement, and the types of its parameters, 0 where the client has not said one."""

    text: str
    oids: tuple[int, ...]
    shapes: Sequence[Shape] | None = None
    """The types of its columns, if a client was told of them."""


@dataclass(slots=True)
class Portal:
    """A statement with values, and, once it was carried out, what came of it and how many rows were sent."""

    statement: Prepared
    values: tuple[str, ...]
    forms: tuple[int, ...]
    outcome: Outcome | None = None
    sent: int = field(default=0)

    def forms_of(self, columns: int) -> Sequence[int]:
        """Of each column whether its values are sent as text (0) or binary (1)."""
        if len(self.forms) == columns:
            return self.forms
        if len(self.forms) > 1:
            raise SqlStateError(PROTOCOL, f"forms of {len(self.forms)} columns are asked for, and there are {columns}")
        return [self.forms[0] if self.forms else 0] * columns


def parsed(body: Body) -> tuple[str, Prepared]:
    """What Parse says: a name and a statement."""
    name, text = body.text(), body.text()
    oids = [body.int32() for _ in range(body.int16())]
    count = parameters_in(text)
    oids += [0] * (count - len(oids))
    inferred = _inferred(text) if 0 in oids else {}
    return name, Prepared(text, tuple(oid or inferred.get(n, 0) for n, oid in enumerate(oids, 1)))


_CAST = re.compile(r"\$(\d+)\s*::\s*([a-z]\w*(?: varying| precision)?)(\s*\[\])?", re.IGNORECASE)
_CAST_SO = re.compile(r"\bCAST\s*\(\s*\$(\d+)\s+AS\s+([a-z]\w*(?: varying| precision)?)(\s*\[\])?\s*\)", re.IGNORECASE)
_ANY = re.compile(r"\b(?:ANY|ALL|SOME)\s*\(\s*\$(\d+)\s*\)", re.IGNORECASE)


def _inferred(text: str) -> dict[int, int]:
    """The types of parameters that the text casts, or compares with as lists, by their numbers."""
    found = {int(number): TEXT.array for number in _ANY.findall(text)}
    for number, name, brackets in (*_CAST.findall(text), *_CAST_SO.findall(text)):
        of = type_named(name)
        if of is not None:
            found[int(number)] = of.array if brackets else of.oid
    return found


def bound(body: Body, statement: Prepared) -> Portal:
    """What Bind says, behind the names of a portal and a statement. TypeMismatchError for no value of a type."""
    forms = [body.int16() for _ in range(body.int16())]
    values = [body.value() for _ in range(body.int16())]
    if len(values) != len(statement.oids):
        raise SqlStateError(
            PROTOCOL, f"the statement has {len(statement.oids)} parameters, but {len(values)} values are given"
        )
    if len(forms) != len(values):
        forms = [forms[0] if forms else 0] * len(values)
    found = tuple(given(*each) for each in zip(values, statement.oids, forms, strict=True))
    return Portal(statement, found, tuple(body.int16() for _ in range(body.int16())))
