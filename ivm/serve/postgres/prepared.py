"""Statements and portals of the extended protocol: what Parse and Bind name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ivm.serve.postgres.decoding import given
from ivm.serve.postgres.encoding import BINARY_FORM
from ivm.serve.postgres.errors import PROTOCOL, SqlStateError
from ivm.serve.postgres.inferring import inferred
from ivm.serve.postgres.messages import Body
from ivm.serve.postgres.outcome import Outcome
from ivm.serve.postgres.types import BYTEA, DATE, ELEMENTS, TEXT, TIMESTAMP, Shape
from ivm.session.settings import Settings
from ivm.sql.parameters import parameters_in

_READ = frozenset([DATE.oid, TIMESTAMP.oid, BYTEA.oid])
"""Types of which a text means another value than the same literal of SQL does."""


@dataclass(slots=True)
class Prepared:
    """A statement, and the types of its parameters, 0 where the client has not said one; `inferred` are those that the
    text tells then, by their numbers.
    """

    text: str
    oids: tuple[int, ...]
    inferred: Mapping[int, int] = field(default_factory=dict)
    shapes: Sequence[Shape] | None = None
    """The types of its columns, if a client was told of them."""

    @property
    def types(self) -> tuple[int, ...]:
        """The types of its parameters as a client is told of them."""
        return tuple(oid or self.inferred.get(number, TEXT.oid) for number, oid in enumerate(self.oids, 1))

    def oid_in(self, form: int, number: int) -> int:
        """By which type a value of a form is read; 0 for a text that stands as a literal, as most may."""
        oid = self.oids[number - 1]
        found = self.inferred.get(number, 0)
        return oid or (found if form == BINARY_FORM or found in ELEMENTS or found in _READ else 0)


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


def parsed(body: Body, settings: Settings) -> tuple[str, Prepared]:
    """What Parse says: a name and a statement."""
    name, text = body.text(), body.text()
    oids = [body.int32() for _ in range(body.int16())]
    oids += [0] * (parameters_in(text) - len(oids))
    found = inferred(text, settings) if 0 in oids else {}
    return name, Prepared(text, tuple(oids), {n: found[n] for n, oid in enumerate(oids, 1) if not oid and n in found})


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
    oids = (statement.oid_in(form, number) for number, form in enumerate(forms, 1))
    found = tuple(given(*each) for each in zip(values, oids, forms, strict=True))
    return Portal(statement, found, tuple(body.int16() for _ in range(body.int16())))
