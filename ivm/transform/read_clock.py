"""What depends on what time it is becomes a join with the clock, a table of one row that commits and ticks change.

    ts > now() - INTERVAL 1 HOUR
becomes
    ts > clock.now - INTERVAL 1 HOUR, over a join with the clock,

of which the planner keeps the rows in the order of ts: when the clock moves, those between its old and its new place
are visited, and no others. Each comparison has a clock of its own, so that a change of one moves one bound; two of one
expression that bound it from both sides share theirs, of which a change moves both.

A comparison that stands within an expression (OR, CASE, FILTER) decides there between rows on which it is true, false,
and NULL: a union of these three.

Whatever else reads the clock (now() - ts AS age) is a value of each row: a join with what it reads of the clock, of
which all rows are visited when that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ivm.analysis.ranges import can_raise
from ivm.analysis.unique_keys import is_unique
from ivm.catalog.types import BIGINT, BOOLEAN, DATE, INTEGER, TIMESTAMP, VARCHAR, SqlType
from ivm.sql.folded import folded
from ivm.sql.ir.clock import NOW, READ, is_of_clock, reads_clock
from ivm.sql.ir.conditions import comparison, is_null, is_opposite
from ivm.sql.ir.functions import MIRRORED, NEGATED
from ivm.sql.ir.rebuild import row, scalars_of, with_scalars
from ivm.sql.ir.relation import Filter, Join, Map, Project, Reduce, Relation, Union, Unnest, Window
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Column, Literal, Scalar, columns_of, rewrite, walk
from ivm.transform.rewrite import as_certain, bottom_up, filtered, names, projected

MOST = 5
"""So many comparisons with the clock decide within the expressions of one clause: 3^5 kinds of rows. If there are more,
the clause is computed of all rows.
"""


@bottom_up
def read_clock(relation: Relation) -> Relation:
    """Join the clock wherever it is read."""
    if not any(map(reads_clock, scalars_of(relation))):
        return relation
    match relation:
        case Filter():
            return _filtered(relation.input, relation.predicates)
        case Map():
            return _mapped(relation)
        case Reduce() | Window() | Unnest():
            return _over_computed(relation)
    raise AssertionError(f"{type(relation).__name__} has expressions, but reads no clock")


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
    first = _first((predicate,))
    if first is None:
        return _at_all(_filtered(relation, others), predicate)
    kinds = [
        (*others, *wanted, left)
        for wanted, known in _kinds(first)
        if (left := known(predicate)) != FALSE and not (isinstance(left, Literal) and left.value is None)
    ]
    made = [_filtered(relation, tuple(each for each in kind if each != TRUE)) for kind in kinds]
    return Union(tuple(made)) if len(made) > 1 else made[0] if made else filtered(relation, (FALSE,))


def _at_all(relation: Relation, predicate: Scalar) -> Relation:
    """The rows on which a predicate holds that decides of each of them at each time."""
    width = len(relation.schema)
    over, scalars = _beside_clock(relation, (predicate,))
    return Project(Filter(over, scalars), tuple(range(width)))


def _mapped(relation: Map) -> Relation:
    """The relation of a map, some of whose expressions read the clock."""
    if not any(map(reads_clock, relation.scalars)):
        return relation
    below, schema = relation.input, relation.schema[len(relation.input.schema) :]
    first = None if is_unique(below, ()) else _first(relation.scalars)
    if first is None:
        return _valued(relation)
    made = []
    for wanted, known in _kinds(first):
        scalars = as_certain(tuple(map(known, relation.scalars)), schema)
        made.append(_mapped(replace(relation, input=_filtered(below, wanted), scalars=scalars)))
    return Union(tuple(made))


def _valued(relation: Map) -> Relation:
    """The relation of a map, all of whose rows are others whenever what they read of the clock changes."""
    width = len(relation.input.schema)
    over, scalars = _beside_clock(relation.input, tuple(map(_cut_to_part, relation.scalars)))
    wider = len(over.schema)
    kept = (*range(width), *range(wider, wider + len(scalars)))
    return projected(Map(over, scalars, relation.names), kept, names(relation))


def _beside_clock(relation: Relation, scalars: tuple[Scalar, ...]) -> tuple[Relation, tuple[Scalar, ...]]:
    """The rows of `relation` beside what `scalars` read of the clock, and these over such a row.

    What they compute of the clock alone is computed there, so that nothing changes until that does, such as a day.
    """
    parts = tuple(dict.fromkeys(part for scalar in scalars for part in _clock_parts(scalar)))
    clock = READ if parts == (NOW,) else _computed(parts)
    columns = {part: Column(len(relation.schema) + place, part.type, part.nullable) for place, part in enumerate(parts)}
    return Join((relation, clock)), tuple(_with_columns(scalar, columns) for scalar in scalars)


def _computed(parts: tuple[Scalar, ...]) -> Relation:
    """What is computed of the clock, as a group: a clock that moves and leaves it as it is changes nothing."""
    return Reduce(READ, tuple(_at(part, 0) for part in parts), (), tuple(f"#{place}" for place in range(len(parts))))


def _clock_parts(scalar: Scalar) -> Iterator[Scalar]:
    """The largest parts that are computed of the clock alone, and cannot fail, of which a row might not want them."""
    if scalar == NOW or (is_of_clock(scalar) and _is_certain(scalar)):
        yield scalar
    elif isinstance(scalar, Call):
        for argument in scalar.args:
            yield from _clock_parts(argument)


def _is_certain(scalar: Scalar) -> bool:
    match scalar:
        case Call("date_trunc", (Literal(), moment)):  # which fails far from any time that a clock shows
            return _is_certain(moment)
    return not can_raise(scalar)


def _with_columns(scalar: Scalar, columns: dict[Scalar, Column]) -> Scalar:
    """The expression with columns in the place of its largest parts that are one."""
    if scalar in columns:
        return columns[scalar]
    if not isinstance(scalar, Call):
        return scalar
    return replace(scalar, args=tuple(_with_columns(argument, columns) for argument in scalar.args))


def _cut_to_part(scalar: Scalar) -> Scalar:
    """The same value, in which date_diff() reads no more of the clock than the beginning of its part."""

    def cut(part: Scalar) -> Scalar:
        match part:
            case Call("date_diff", (Literal(str(unit)), begin, end)) if unit in _CUT:
                of_clock = (_cut(each, unit) if is_of_clock(each) else each for each in (begin, end))
                return replace(part, args=(part.args[0], *of_clock))
        return part

    return rewrite(scalar, cut)


def _over_computed(relation: Reduce | Window | Unnest) -> Relation:
    """A node some of whose expressions read the clock: these are computed below it."""
    below = relation.input
    width, read = len(below.schema), tuple(dict.fromkeys(filter(reads_clock, scalars_of(relation))))
    made = _mapped(Map(below, read, tuple(f"#{i}" for i in range(len(read)))))
    values = dict(zip(read, row(made)[width:], strict=True))
    over = replace(with_scalars(relation, lambda scalar: values.get(scalar, scalar)), input=made)
    if isinstance(over, Reduce):
        return over
    kept = (*range(width), *range(width + len(read), len(over.schema)))
    return projected(over, kept, names(relation))


def _compared(relation: Relation, found: Iterable[tuple[Scalar, str, Scalar]]) -> Relation:
    """The rows of `relation` that stand so to the clock: (expression, comparison, expression of the clock).

    An expression that has to be between two places of one clock has both bounds of it.
    """
    width = len(relation.schema)
    clocks: list[Relation] = []
    predicates: list[Scalar] = []
    alone: dict[Scalar, tuple[int, str]] = {}  # the clocks of which an expression has one bound, and which
    for value, function, bound in found:
        place = width + len(clocks)
        if columns_of(value):
            known = alone.get(value)
            if known is not None and is_opposite(known[1], function):
                place, _ = alone.pop(value)
            else:
                clocks.append(READ)
                alone[value] = place, function
            predicates.append(comparison(function, value, _at(bound, place)))
        else:  # which then changes when its truth does, and not whenever the clock moves
            holds = comparison(function, value, _at(bound, 0))
            clocks.append(_computed((holds,)))
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
_CUT = (*_UNITS, "day", "month", "year")


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


def _first(scalars: tuple[Scalar, ...]) -> Scalar | None:
    """The comparison that is to decide between kinds of rows; None if there are too many, or all rows change anyhow."""
    found = tuple(dict.fromkeys(_comparisons(scalars)))
    is_value = any(reads_clock(scalar) and next(_comparisons((scalar,)), None) is None for scalar in scalars)
    return None if is_value or not 0 < len(found) <= MOST else found[0]


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
