"""What depends on the zone of a text, with that zone as an argument: behind the binder nothing knows of one but UTC.

Between moments and all other types a cast tells by the clocks of the zone that the text has; behind this, by those of
UTC. So it becomes a call of `timezone`, and what DuckDB computes of moments is computed with that zone set.
"""

from __future__ import annotations

from functools import partial

from ivm.catalog.names import quoted
from ivm.catalog.types import DATE, TIMESTAMP, TIMESTAMPTZ, VARCHAR
from ivm.catalog.zones import UTC, is_zoned
from ivm.sql.ir.functions import FUNCTIONS
from ivm.sql.ir.functions.nested import PLACE, places_of
from ivm.sql.ir.rebuild import is_settled, rebuilt, with_scalars
from ivm.sql.ir.relation import Relation
from ivm.sql.ir.scalar import Call, Literal, Scalar, rewrite

_TO, _FROM = f"timezone of {TIMESTAMPTZ}", f"timezone of {TIMESTAMP}"


def relation_in_zone(relation: Relation, zone: str) -> Relation:
    """A relation of a text of this zone, but for views that it reads, which have their own."""
    if zone == UTC:
        return relation
    return rebuilt(relation, lambda node: with_scalars(node, partial(in_zone, zone=zone)), done=is_settled)


def in_zone(scalar: Scalar, zone: str) -> Scalar:
    """An expression of a text of this zone."""
    return scalar if zone == UTC else rewrite(scalar, lambda part: _told(part, zone))


def by_utc(moment: Scalar) -> Scalar:
    """Of a TIMESTAMP the moment at which clocks of UTC show it, of a moment what they show, whatever the zone is."""
    to, function = (TIMESTAMP, _TO) if moment.type == TIMESTAMPTZ else (TIMESTAMPTZ, _FROM)
    return Call(function, (Literal(UTC, VARCHAR), moment), to, moment.nullable)


def _told(part: Scalar, zone: str) -> Scalar:
    match part:
        case Call(function, (Literal(name), moment)) if function in (_TO, _FROM) and name == UTC:
            return Call("cast", (moment,), part.type, part.nullable)
        case Call("cast" | "try_cast", (of,)) if is_zoned(of.type, part.type):
            return _cast(part, of, zone)
        case Call("written", args):
            return Call("written in zone", (Literal(zone, VARCHAR), *args), part.type, part.nullable)
        case Call(function, args) if function not in (_TO, _FROM) and is_zoned(part.type, *(arg.type for arg in args)):
            asked = FUNCTIONS[function].asked if function in FUNCTIONS else None
            return part if asked is None else _asked(part, f"{quoted(asked)}({', '.join(places_of(len(args)))})", zone)
    return part


def _cast(call: Call, of: Scalar, zone: str) -> Scalar:
    if call.function == "cast" and call.type in (DATE, TIMESTAMP):
        shown = Call(_TO, (Literal(zone, VARCHAR), of), TIMESTAMP, call.nullable)
        return shown if call.type == TIMESTAMP else Call("cast", (shown,), DATE, call.nullable)
    if call.function == "cast" and of.type in (DATE, TIMESTAMP):
        given: Scalar = of if of.type == TIMESTAMP else Call("cast", (of,), TIMESTAMP, of.nullable)
        return Call(_FROM, (Literal(zone, VARCHAR), given), TIMESTAMPTZ, call.nullable)
    return _asked(call, f"{call.function.upper()}({PLACE.format(1)} AS {call.type})", zone)


def _asked(call: Call, text: str, zone: str) -> Call:
    """What DuckDB says of a text in which the arguments of the call have places, by the clocks of the zone."""
    arguments = (Literal(zone, VARCHAR), Literal(text, VARCHAR), *call.args)
    return Call("written in zone", arguments, call.type, call.nullable)
