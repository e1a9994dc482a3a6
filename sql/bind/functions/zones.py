"""AT TIME ZONE, by which a moment becomes the time on a clock somewhere, and such a time a moment."""

from __future__ import annotations

import re

from sqlglot import exp

from ivm.catalog.types import NULL, TIMESTAMP, TIMESTAMPTZ, VARCHAR
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.scalar import Literal
from ivm.sql.types.zones import is_utc, no_zone, zone_names

_OTHERS = re.compile(
    r"[A-Z]{3}([+-]\d{1,2}(:?\d\d)?)?|SystemV/\w+|US/Pacific-New|Canada/East-Saskatchewan", re.IGNORECASE
)
"""Names that DuckDB knows beyond those of the IANA, and some that it may know."""


def at_time_zone(binder: Binder, node: exp.Expr, moment: exp.Expr, zone: exp.Expr) -> Operand:
    """What x AT TIME ZONE z, or timezone(z, x), is: of a TIMESTAMP, the time on the clocks there, the moment, and of a
    TIMESTAMPTZ, the moment, that time.

    As in DuckDB, of a time that the clocks show twice it is the later moment, and one that they skip is counted on from
    before.
    """
    operand, place = binder.bind(moment), binder.bind(zone)
    if operand.type not in (TIMESTAMP, TIMESTAMPTZ, NULL):
        binder.mismatch(node, f"AT TIME ZONE needs a TIMESTAMP, not a {operand.type}; cast it")
    if place.type not in (VARCHAR, NULL):
        binder.mismatch(zone, f"a time zone is a text, such as 'Europe/Zurich', not {place.type}")
    to = TIMESTAMP if operand.type == TIMESTAMPTZ else TIMESTAMPTZ
    if NULL in (operand.type, place.type):
        return Operand(node, Literal(None, to))
    if isinstance(place.scalar, Literal):
        name = str(place.scalar.value)
        if is_utc(name):
            return Operand(node, binder.by_utc(operand, to))
        _check(binder, zone, name)
    return binder.call(node, f"timezone of {operand.type}", (place.scalar, operand.scalar), to)


def _check(binder: Binder, zone: exp.Expr, name: str) -> None:
    """Fail for a name that is no zone's; where this machine has no list of them, DuckDB says so of the first row."""
    known = zone_names()
    if known and name.lower() not in known and not _OTHERS.fullmatch(name):
        binder.fail(zone, no_zone(name))


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.AtTimeZone: lambda binder, node: at_time_zone(binder, node, node.this, node.args["zone"])
}
