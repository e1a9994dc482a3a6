"""Sequences: numbers that are given out one after the other, and the table of how far each has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ivm.catalog.clock import OWN
from ivm.catalog.errors import BindError, NumericError
from ivm.catalog.names import MAIN, as_literal, key, listed, quoted, suggestion
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, VARCHAR


@dataclass(frozen=True, slots=True)
class Sequence:
    """The numbers from `start` on, each by `increment` greater, up to `most`, or down to `least` if that is negative.

    If it `cycles`, the numbers go on at the other end; else there are no more. `temporary`: it ends with the
    connection, and is written down nowhere.
    """

    name: str
    start: int
    increment: int
    least: int
    most: int
    cycles: bool = False
    temporary: bool = False

    @property
    def key(self) -> str:
        """What it is found by."""
        return key(self.name)

    def after(self, last: int | None) -> int:
        """The number that follows; None: no number was given yet. NumericError if there is none."""
        found = self.start if last is None else last + self.increment
        if self.least <= found <= self.most:
            return found
        if not self.cycles:
            bound, at = ("maximum", self.most) if self.increment > 0 else ("minimum", self.least)
            raise NumericError(
                f'nextval: reached {bound} value of sequence "{self.name}" ({at}); create another, or with CYCLE'
            )
        return self.least if self.increment > 0 else self.most

    def ahead(self, last: int, numbers: int) -> int:
        """A number up to which so many more may be given; `last` itself where there are fewer."""
        found = last + numbers * self.increment
        return found if self.least <= found <= self.most else last

    def covers(self, reserved: int | None, last: int) -> bool:
        """Whether a number that was reserved is not before one that was given."""
        return reserved is not None and (reserved - last) * self.increment >= 0

    def definition(self, start: int | None = None, *, spelled: str = "") -> str:
        """What follows CREATE [TEMP], without a semicolon; `start`, and how the name is `spelled`, if not its own."""
        return (
            f"SEQUENCE {spelled or quoted(self.name)} INCREMENT BY {self.increment} "
            f"MINVALUE {self.least} MAXVALUE {self.most} START WITH {self.start if start is None else start} "
            f"{'CYCLE' if self.cycles else 'NO CYCLE'}"
        )


Sequences = Mapping[str, Sequence]
"""Sequences by their keys."""


def without(sequences: Sequences, name: str, tables: Iterable[Table]) -> Sequences:
    """All but one; BindError if there is none of that name, or if one of the tables takes its numbers as a DEFAULT."""
    what, found = f"cannot drop sequence {name!r}", sequences.get(key(name))
    if found is None:
        known = suggestion(name, (each.name for each in sequences.values()))
        raise BindError(f"{what}: there is none of that name{known}")
    called = as_literal(found.key), as_literal(quoted(found.key)), as_literal(f"{MAIN}.{found.key}")
    users = (t.name for t in tables if any(each in key(d.value) for d in t.defaults for each in called))
    if takers := tuple(users):
        raise BindError(
            f"{what}: a DEFAULT of {listed('table', takers)} takes its numbers; "
            "ALTER TABLE .. ALTER .. DROP DEFAULT first"
        )
    return {each: kept for each, kept in sequences.items() if kept is not found}


SEQUENCES = Table(
    f"{OWN}sequences",
    (Field("name", VARCHAR, nullable=False), Field("last", BIGINT)),
    ("name",),
    replicated=True,
)
"""Of each sequence, by its key, a number up to which numbers may have been given."""
