"""Aggregates over frames that no window operator keeps: a subquery of each row's, over the rows in its frame.

So any aggregate can stand before OVER, also with DISTINCT and ORDER BY, and frames may be of another length for each
row, and leave out what ties in frames by ROWS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ivm.catalog.types import BIGINT, BOOLEAN, SqlType
from ivm.sql.decorrelate.expand_joins import with_columns
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.conditions import comparison, conjuncts, is_null, junction, negation
from ivm.sql.ir.measures import measured
from ivm.sql.ir.rebuild import column, row
from ivm.sql.ir.relation import Apply, Filter, Order, Project, Reduce, Relation, Window
from ivm.sql.ir.scalar import TRUE, Call, Literal, Outer, Scalar
from ivm.sql.ir.window_function import Frame, WindowFunction

ROWS, GROUPS, VALUES = "rows", "groups", "values"
"""What the ends of a frame are counted in, or compared with."""


@dataclass(frozen=True, slots=True)
class FramedAggregate:
    """An aggregate over the frame of each row.

    `by` says what the frame is counted in. `bounds` are over the row: by VALUES those that the first term of the order
    is compared with, else how many rows or groups an end is before the row (negative), or behind it; None where
    `frame` says it with a number. `in_order`: of rows that are alike in its ORDER BY the aggregate goes by the order of
    all columns, backward if it is `back`.
    """

    aggregate: Aggregate
    frame: Frame
    by: str
    bounds: tuple[Scalar | None, Scalar | None] = (None, None)
    in_order: bool = False
    back: bool = False

    @property
    def type(self) -> SqlType:
        """That of the aggregate."""
        return self.aggregate.type

    @property
    def nullable(self) -> bool:
        """What a subquery gives may be missing."""
        return True

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """All expressions over the row: those of the aggregate, then the bounds that there are."""
        return (*self.aggregate.scalars, *(bound for bound in self.bounds if bound is not None))

    def over(self, scalars: Sequence[Scalar]) -> FramedAggregate:
        """The same with other expressions in place of its own."""
        rest = iter(scalars)
        aggregate = self.aggregate.map(lambda _: next(rest))
        start, end = (None if bound is None else next(rest) for bound in self.bounds)
        return replace(self, aggregate=aggregate, bounds=(start, end))

    @property
    def needs(self) -> frozenset[str]:
        """Which places of rows its frame is told by: "row_number", "dense_rank"."""
        exclude = self.frame.exclude
        found = {"row_number"} if self.by == ROWS or exclude in ("current row", "ties") else set[str]()
        if self.by == GROUPS or (self.by == ROWS and exclude in ("group", "ties")):
            found.add("dense_rank")
        return frozenset(found)


_MIRRORED = {"ge": "le", "le": "ge"}


def with_framed(
    relation: Relation,
    numbers: Callable[[], int],
    partition: Sequence[int],
    order: tuple[Order, ...],
    found: Sequence[FramedAggregate],
    names: Sequence[str],
) -> Relation:
    """The rows with these aggregates, each over its frame; `numbers` gives one that no other subquery has.

    Cost: a change of a row concerns the rows of its partition, of which each that has it in its frame has its
    aggregates changed by that row; frames by ROWS and GROUPS also those whose places it moves.
    """
    width, all_columns = len(relation.schema), row(relation)
    relation, at = with_columns(relation, [b for each in found for b in each.bounds if b is not None], "bound")
    ends = iter(at)
    bounds = [tuple(None if b is None else next(ends) for b in each.bounds) for each in found]
    needed = sorted(frozenset[str]().union(*(each.needs for each in found)))
    rows = relation
    if needed:
        functions = tuple(WindowFunction(name, (), BIGINT, False) for name in needed)
        rows = Window(relation, tuple(partition), order, functions, tuple(needed))
    places = {name: len(relation.schema) + i for i, name in enumerate(needed)}
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, each in enumerate(found):
        groups.setdefault((each.frame, each.by, bounds[i]), []).append(i)
    both, columns = rows, dict[int, int]()
    for members in groups.values():
        binding, first = numbers(), found[members[0]]
        frame = _InFrame(rows, binding, tuple(partition), order, places, first.by, first.frame, bounds[members[0]])
        predicates = conjuncts(frame.predicates())
        inside = Filter(rows, predicates) if predicates else rows
        aggregates = tuple(_by_all_columns(found[i], all_columns) for i in members)
        columns.update({i: len(both.schema) + n for n, i in enumerate(members)})
        value = Reduce(inside, (), aggregates, tuple(names[i] for i in members))
        both = Apply("single", both, value, (), binding)
    return Project(both, (*range(width), *(columns[i] for i in range(len(found)))))


def _by_all_columns(framed: FramedAggregate, columns: Sequence[Scalar]) -> Aggregate:
    """The aggregate, which goes by the order of all columns where its own leaves rows alike."""
    if not framed.in_order:
        return framed.aggregate
    ties = (AggregateOrder(measured(each), framed.back, framed.back) for each in columns)
    return replace(framed.aggregate, order=(*framed.aggregate.order, *ties))


@dataclass(frozen=True, slots=True)
class _InFrame:
    """Whether a row is in the frame of another, which is read as that of `binding`."""

    rows: Relation
    binding: int
    partition: tuple[int, ...]
    order: tuple[Order, ...]
    places: dict[str, int]
    by: str
    frame: Frame
    bounds: tuple[int | None, ...]

    def predicates(self) -> Iterator[Scalar]:
        """What all have to hold."""
        for place in self.partition:
            yield self._same(place)
        ends = self._ends_by_value() if self.by == VALUES else self._ends_by_place()
        yield from (end for end in ends if end != TRUE)
        match self.frame.exclude:
            case "current row":
                yield negation(self._same(self.places["row_number"]))
            case "group":
                yield negation(self._is_peer())
            case "ties":
                yield junction("or", [negation(self._is_peer()), self._same(self.places["row_number"])])

    def _pair(self, place: int) -> tuple[Scalar, Scalar]:
        """A column of the row in question, and of the row whose frame it is; by what both are compared."""
        return measured(column(self.rows, place)), measured(self._of_row(place))

    def _of_row(self, place: int) -> Scalar:
        own = column(self.rows, place)
        return Outer(self.binding, place, own.type, own.nullable)

    def _same(self, place: int) -> Scalar:
        one, other = self._pair(place)
        if one.nullable or other.nullable:
            return negation(comparison("is_distinct", one, other))
        return comparison("eq", one, other)

    def _is_peer(self) -> Scalar:
        return self._same(self.order[0].column if self.by == VALUES else self.places["dense_rank"])

    def _ends_by_place(self) -> Iterator[Scalar]:
        own, of_row = self._pair(self.places["row_number" if self.by == ROWS else "dense_rank"])
        start, end = self.bounds
        for function, given, bound in (("ge", self.frame.start, start), ("le", self.frame.end, end)):
            if given is None:
                continue
            moved: Scalar = Literal(given, BIGINT) if bound is None else self._of_row(bound)
            yield comparison(function, own, Call("add", (of_row, moved), BIGINT, moved.nullable))

    def _ends_by_value(self) -> Iterator[Scalar]:
        """NULLs are at one end, and peers of each other: a distance from them leads nowhere."""
        term, frame = self.order[0], self.frame
        own, of_row = self._pair(term.column)
        start, end = self.bounds
        sides = (("ge", frame.start, start, not term.nulls_first), ("le", frame.end, end, term.nulls_first))
        for function, given, bound, nulls in sides:
            if given is None:
                continue
            limit = of_row if bound is None else measured(self._of_row(bound))
            within: Scalar = comparison(_MIRRORED[function] if term.descending else function, own, limit)
            if not own.nullable:
                yield within
                continue
            if nulls:  # they are on this side of all values
                within = junction("or", [is_null(own), within])
            of_null = is_null(own) if nulls else TRUE
            yield Call("case", (is_null(of_row), of_null, within), BOOLEAN)
