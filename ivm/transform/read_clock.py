"""What depends on what time it is becomes a join with the clock, a table of one row that commits and ticks change.

    ts > now() - INTERVAL 1 HOUR
becomes
    ts > clock.now - INTERVAL 1 HOUR, over a join with the clock,

of which the planner keeps the rows in the order of ts: when the clock moves, those between its old and its new place
are visited, and no others. Each comparison has a clock of its own, so that a change of one moves one bound.

A comparison that stands within an expression (OR, CASE, FILTER) decides there between rows on which it is true, false,
and NULL: a union of these three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from catalog.errors import UnsupportedError
from catalog.types import BIGINT, BOOLEAN, DATE, INTEGER, TIMESTAMP, VARCHAR, SqlType
from ivm.analysis.ranges import can_raise
from ivm.analysis.unique_keys import is_unique
from ivm.transform.rewrite import as_certain, bottom_up, filtered, names, projected
from sql.folded import folded
from sql.ir.clock import NOW, READ, is_of_clock, reads_clock
from sql.ir.conditions import comparison, is_null
from sql.ir.functions import MIRRORED, NEGATED
from sql.ir.rebuild import row, scalars_of
from sql.ir.relation import Filter, Join, Map, Project, Reduce, Relation, Union
from sql.ir.scalar import FALSE, TRUE, Call, Column, Literal, Scalar, columns_of, rewrite, walk
from sql.ir.text import scalar_text

MOST = 5
"""So many comparisons with the clock may decide within the expressions of one clause: 3^5 kinds of rows."""


@bottom_up
def read_clock(relation: Relation) -> Relation:
    """Join the clock wherever it is read. UnsupportedError where more than the rows that it passes would change."""
    if not any(map(reads_clock, scalars_of(relation))):
        return relation
    match relation:
        case Filter():
            return _filtered(relation.input, relation.predicates)
        case Map():
            return _mapped(relation)
        case Reduce():
            return _reduced(relation)
    raise _refusal(next(filter(reads_clock, scalars_of(relation))), relation)


def _filtered(relation: Relation, predicates: tuple[Scalar, ...]) -> Relation:
    """The rows of `relation` on which all predicates hold."""
    found: list[tuple[Scalar, str, Scalar]] = []
    below, above = list[Scalar](), list[Scalar]()
    for predicate in predicates:
        if not reads_clock(predicate):
            (above if found and can_raise(predicate) else below).append(predicate)
            continue
        sides = _sides(predicate)
        if sides is None or sides[1] == "ne":
            others = tuple(each for each in predicates if each is not predicate)
            return _split(relation, predicate, others)
        found.append(sides)
    plain = filtered(relation, below)
    return filtered(_compared(plain, found), above) if found else filtered(plain, above)


def _split(relation: Relation, predicate: Scalar, others: tuple[Scalar, ...]) -> Relation:
    """The rows on which `predicate`, in which a comparison with the clock stands, and the others hold."""
    match predicate:
        case Call("ne", (left, right)) if _sides(predicate) is not None:
            both = (comparison(function, left, right) for function in ("lt", "gt"))
            return Union(tuple(_filtered(relation, (*others, each)) for each in both))
    _check_number((predicate,), relation)
    kinds = [
        (*others, *wanted, left)
        for wanted, known in _kinds(_first((predicate,), relation))
        if (left := known(predicate)) != FALSE and not (isinstance(left, Literal) and left.value is None)
    ]
    made = [_filtered(relation, tuple(each for each in kind if each != TRUE)) for kind in kinds]
    return Union(tuple(made)) if len(made) > 1 else made[0] if made else filtered(relation, (FALSE,))


def _mapped(relation: Map) -> Relation:
    """The relation of a map, some of whose expressions read the clock."""
    if not any(map(reads_clock, relation.scalars)):
        return relation
    below, schema = relation.input, relation.schema[len(relation.input.schema) :]
    if is_unique(below, ()):  # one row may have the time as its value
        width = len(below.schema)
        over = Map(Join((below, READ)), tuple(_at(s, width) for s in relation.scalars), relation.names)
        kept = (*range(width), *range(width + 1, width + 1 + len(relation.scalars)))
        return projected(over, kept, names(relation))
    _check_number(relation.scalars, relation)
    made = []
    for wanted, known in _kinds(_first(relation.scalars, relation)):
        scalars = as_certain(tuple(map(known, relation.scalars)), schema)
        made.append(_mapped(replace(relation, input=_filtered(below, wanted), scalars=scalars)))
    return Union(tuple(made))


def _reduced(relation: Reduce) -> Relation:
    """The relation of a reduce, some of whose expressions read the clock: they are computed below it."""
    below = relation.input
    read = tuple(dict.fromkeys(filter(reads_clock, scalars_of(relation))))
    made = _mapped(Map(below, read, tuple(f"#{i}" for i in range(len(read)))))
    values = dict(zip(read, row(made)[len(below.schema) :], strict=True))
    aggregates = tuple(each.map(lambda s: values.get(s, s)) for each in relation.aggregates)
    return replace(relation, input=made, keys=tuple(values.get(k, k) for k in relation.keys), aggregates=aggregates)


def _compared(relation: Relation, found: Iterable[tuple[Scalar, str, Scalar]]) -> Relation:
    """The rows of `relation` that stand so to the clock: (expression, comparison, expression of the clock)."""
    width = len(relation.schema)
    clocks: list[Relation] = []
    predicates: list[Scalar] = []
    for value, function, bound in found:
        place = width + len(clocks)
        if columns_of(value):
            clocks.append(READ)
            predicates.append(comparison(function, value, _at(bound, place)))
        else:  # which then changes when its truth does, and not whenever the clock moves
            holds = comparison(function, value, _at(bound, 0))
            clocks.append(Project(Map(READ, (holds,), ("holds",)), (1,)))
            predicates.append(Column(place, BOOLEAN, holds.nullable))
    return Project(Filter(Join((relation, *clocks)), tuple(predicates)), tuple(range(width)))


def _at(scalar: Scalar, place: int) -> Scalar:
    """The expression that reads the clock from the column at this place."""
    clock = Column(place, NOW.type, nullable=False)
    return rewrite(scalar, lambda s: clock if s == NOW else s)


def _sides(scalar: Scalar) -> tuple[Scalar, str, Scalar] | None:
    """Of a comparison with the clock, the expression of a row, how it compares, and what with; None for all else."""
    if not isinstance(scalar, Call) or scalar.function not in MIRRORED:
        return None
    (left, right), function = scalar.args, scalar.function
    for one, compares, other in ((left, function, right), (right, MIRRORED[function], left)):
        if is_of_clock(other) and not reads_clock(one) and not other.nullable:
            return one, compares, other
        if isinstance(other, Literal) and isinstance(other.value, int):
            between = _of_difference(one, compares, other.value)
            if between is not None:
                return between
    return None


def _of_difference(scalar: Scalar, function: str, length: int) -> tuple[Scalar, str, Scalar] | None:
    """`_sides` of a comparison of the time between a row and the clock with a `length`."""
    match scalar:
        case Call("micros_between", (end, begin)):
            return _sides_of(end, begin, function, Literal(length, BIGINT))
        case Call("days_between", (end, begin)):
            return _sides_of(end, begin, function, Literal(length, INTEGER))
        case Call("date_diff", (Literal("day"), begin, end)):
            return _sides_of(_cast(end, DATE), _cast(begin, DATE), function, Literal(length, INTEGER))
        case Call("date_diff", (Literal(str(part)), begin, end)) if part in _UNITS:
            micros = Literal(length * _UNITS[part], BIGINT)
            return _sides_of(_cut(end, part), _cut(begin, part), function, micros)
    return None


def _cut(scalar: Scalar, part: str) -> Scalar:
    moment = _cast(scalar, TIMESTAMP)
    return Call("date_trunc", (Literal(part, VARCHAR), moment), TIMESTAMP, moment.nullable)


_UNITS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


def _sides_of(end: Scalar, begin: Scalar, function: str, length: Literal) -> tuple[Scalar, str, Scalar] | None:
    """`_sides` of a comparison of `end` minus `begin` with a length."""
    if is_of_clock(end) and not reads_clock(begin) and not end.nullable:
        return begin, MIRRORED[function], _shifted(end, -int(length.value or 0), length.type)
    if is_of_clock(begin) and not reads_clock(end) and not begin.nullable:
        return end, function, _shifted(begin, int(length.value or 0), length.type)
    return None


def _shifted(clock: Scalar, length: int, type_: SqlType) -> Scalar:
    shift = "add_days" if clock.type == DATE else "add_micros"
    return Call(shift, (clock, Literal(length, type_)), clock.type, nullable=False)


def _cast(scalar: Scalar, type_: SqlType) -> Scalar:
    return scalar if scalar.type == type_ else Call("cast", (scalar,), type_, scalar.nullable)


def _comparisons(scalars: Iterable[Scalar]) -> Iterator[Scalar]:
    return (part for scalar in scalars for part in walk(scalar) if _sides(part) is not None)


def _first(scalars: tuple[Scalar, ...], relation: Relation) -> Scalar:
    """The first comparison with the clock; UnsupportedError if the clock is read in another way."""
    found = next(_comparisons(scalars), None)
    if found is None:
        raise _refusal(next(filter(reads_clock, scalars)), relation)
    return found


def _kinds(compared: Scalar) -> list[tuple[tuple[Scalar, ...], Callable[[Scalar], Scalar]]]:
    """The kinds of rows between which a comparison decides: what holds of them, and what is left of an expression."""

    def known(value: Scalar) -> Callable[[Scalar], Scalar]:
        return lambda scalar: folded(rewrite(scalar, lambda s: value if s == compared else s))

    sides = _sides(compared)
    assert isinstance(compared, Call), "it was found so"
    assert sides is not None, "it was found so"
    false = replace(compared, function=NEGATED[compared.function])
    kinds: list[tuple[tuple[Scalar, ...], Callable[[Scalar], Scalar]]] = [
        ((compared,), known(TRUE)), ((false,), known(FALSE)),
    ]  # fmt: skip
    if sides[0].nullable:
        kinds.append(((is_null(sides[0]),), known(Literal(None, BOOLEAN))))
    return kinds


def _check_number(scalars: tuple[Scalar, ...], relation: Relation) -> None:
    count = len(dict.fromkeys(_comparisons(scalars)))
    if count > MOST:
        raise UnsupportedError(
            f"cannot maintain this: {count} comparisons with now() stand within other expressions of one clause, and "
            f"{MOST} is the limit; join them by AND, or compute some of them in a view of their own"
        )


def _refusal(scalar: Scalar, relation: Relation) -> UnsupportedError:
    written = scalar_text(scalar, names(relation))
    return UnsupportedError(
        f"cannot maintain {written}: it changes all the time; compare a column with now(), as in "
        "ts > now() - INTERVAL 1 HOUR, or compute it in the SELECT that reads the view"
    )
