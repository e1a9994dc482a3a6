"""The subqueries of a clause: dependent joins that are put under it.

An expression reads the column that such a join appends. Until the joins stand, that column is a placeholder: an Outer
with a negative number, which no rewriting of columns touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from ivm.sql.bind.context import BindContext, Block, Ctes
from ivm.sql.bind.names.scope import OuterRow, seen_from_inside
from ivm.sql.decorrelate.expand_joins import filtered, padded
from ivm.sql.ir.rebuild import Known, map_scalars, relation_scalars
from ivm.sql.ir.relation import Apply, Constant, Project, Relation, Union
from ivm.sql.ir.scalar import Call, Column, Literal, Outer, Scalar, rewrite, walk

_APPENDING = ("mark", "single")


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """An Apply that waits for its left side. Expressions read its columns as Outer(`number`, ..), if it has any."""

    kind: str
    right: Relation
    binding: int
    number: int
    node: exp.Expr


@dataclass(slots=True)
class Subqueries:
    """The subqueries of one clause of a block, in the order in which they are to be joined."""

    context: BindContext
    ctes: Ctes
    found: list[Pending] = field(default_factory=list)
    values: dict[exp.Expr, Scalar] = field(default_factory=dict)

    def relation(self, row: OuterRow, node: exp.Expr) -> Relation:
        """The relation of a subquery that may name the columns of `row`."""
        return self.block(row, node).relation

    def block(self, row: OuterRow, node: exp.Expr) -> Block:
        """The same with its ORDER BY."""
        with inside(self.context, row):
            return self.context.query(self.context, node, self.ctes)

    def add(self, kind: str, right: Relation, binding: int, node: exp.Expr) -> tuple[Outer, ...]:
        """Let the relation be joined; the placeholders of the columns that it appends."""
        number = -self.context.number()
        self.found.append(Pending(kind, right, binding, number, node))
        if kind not in _APPENDING:
            return ()
        fields = Apply(kind, _NO_COLUMNS, right).schema
        return tuple(Outer(number, i, f.type, f.nullable) for i, f in enumerate(fields))

    def forget(self) -> None:
        """Let none of them be joined; what reads them is bound again."""
        self.found.clear()
        self.values.clear()


_NO_COLUMNS = Constant((), ())


@contextmanager
def inside(context: BindContext, row: OuterRow) -> Iterator[None]:
    """What is bound meanwhile may name the columns of `row`."""
    context.outer_rows.append(row)
    try:
        yield
    finally:
        context.outer_rows.pop()


def placeholders(scalars: Iterable[Scalar]) -> frozenset[int]:
    """The numbers of the pending joins that the expressions read."""
    return frozenset(s.binding for scalar in scalars for s in walk(scalar) if isinstance(s, Outer) and s.binding < 0)


Resolve = Callable[[Scalar], Scalar]


def placed(relation: Relation, pending: Sequence[Pending], scalars: Iterable[Scalar]) -> tuple[Relation, Resolve]:
    """The joins on top of `relation`, and what puts their columns in the place of their placeholders.

    Those that only test a row come first. One that appends columns is left out if `scalars` do not read them.
    """
    columns: dict[tuple[int, int], Column] = {}

    def resolve(scalar: Scalar, binding: int | None = None) -> Scalar:
        def put(s: Scalar) -> Scalar:
            column = columns.get((s.binding, s.index)) if isinstance(s, Outer) else None
            if column is None:
                return s
            return column if binding is None else Outer(binding, column.index, column.type, column.nullable)

        return rewrite(scalar, put)

    for each in _ordered(pending, scalars):
        right = each.right
        if columns:
            right = map_scalars(right, partial(resolve, binding=each.binding))
        width = len(relation.schema)
        relation = Apply(each.kind, relation, right, (), each.binding)
        if each.kind in _APPENDING:
            for i, f in enumerate(relation.schema[width:]):
                columns[each.number, i] = Column(width + i, f.type, f.nullable)
    return relation, resolve


def _ordered(pending: Sequence[Pending], scalars: Iterable[Scalar]) -> list[Pending]:
    reads = {each.number: placeholders(relation_scalars(each.right)) for each in pending}
    wanted = set(placeholders(scalars))
    used: list[Pending] = []
    for each in reversed(pending):
        if each.kind not in _APPENDING or each.number in wanted:
            wanted |= reads[each.number]
            used.insert(0, each)
    tests = [each for each in used if each.kind not in _APPENDING and not reads[each.number]]
    return tests + [each for each in used if each not in tests]


def terms_of(pending: Iterable[Pending]) -> tuple[Scalar, ...]:
    """The expressions over the block's row alone that stand in subqueries, each once, as expressions over that row."""
    found: dict[Scalar, Scalar] = {}
    for each in pending:
        for scalar in relation_scalars(each.right):
            _replaced(scalar, each.binding, lambda term: found.setdefault(term, term))
    return tuple(found)


def with_terms(pending: Sequence[Pending], values: Mapping[Scalar, Scalar]) -> list[Pending]:
    """The same subqueries over other rows, in which what `terms_of` tells has the `values`."""
    known: dict[int, Known] = {}

    def over(each: Pending) -> Pending:
        def move(scalar: Scalar) -> Scalar:
            return _replaced(scalar, each.binding, values.__getitem__)

        return replace(each, right=map_scalars(each.right, move, known.setdefault(each.binding, {})))

    return [over(each) for each in pending]


def _replaced(scalar: Scalar, binding: int, value: Callable[[Scalar], Scalar]) -> Scalar:
    """The expression with its largest parts over the outer row alone replaced; `value` gives and takes columns."""
    read = [s for s in walk(scalar) if not isinstance(s, Call | Literal)]
    if not any(isinstance(s, Outer) and s.binding == binding for s in read):
        return scalar
    if all(isinstance(s, Outer) and (s.binding == binding or s.binding < 0) for s in read):
        term = _reading(scalar, binding, lambda s: Column(s.index, s.type, s.nullable))
        return seen_from_inside(value(term), binding)
    assert isinstance(scalar, Call), "it reads two rows"
    return replace(scalar, args=tuple(_replaced(arg, binding, value) for arg in scalar.args))


def _reading(scalar: Scalar, binding: int | None, value: Callable[[Column | Outer], Scalar]) -> Scalar:
    """The expression with what it reads of a row replaced: its columns, or as Outer from inside a join of it."""

    def read(s: Scalar) -> Scalar:
        if isinstance(s, Outer):
            return value(s) if s.binding == binding else s
        return value(s) if isinstance(s, Column) and binding is None else s

    return rewrite(scalar, read)


def _all_reading(
    pending: Sequence[Pending], predicates: Sequence[Scalar], value: Callable[[Column | Outer], Scalar]
) -> tuple[list[Pending], list[Scalar]]:
    """The subqueries and predicates of a row with what they read of it replaced."""
    found = [
        replace(each, right=map_scalars(each.right, partial(_reading, binding=each.binding, value=value)))
        for each in pending
    ]
    return found, [_reading(p, None, value) for p in predicates]


def satisfying(
    relation: Relation, pending: Sequence[Pending], predicates: Sequence[Scalar], first: Sequence[Scalar] = ()
) -> Relation:
    """The rows that satisfy the `predicates` and join the `pending`, with the columns that they had.

    The predicates that read no subquery are tested before the joins, `first` before all others.
    """
    plain = (*first, *(p for p in predicates if not placeholders((p,))))
    rest = [p for p in predicates if placeholders((p,))]
    joined, resolve = placed(filtered(relation, plain), pending, rest)
    above = filtered(joined, tuple(map(resolve, rest)))
    width = len(relation.schema)
    return above if len(above.schema) == width else Project(above, tuple(range(width)))


def seen_from_left(
    right: Relation, width: int, binding: int, pending: Sequence[Pending], predicates: Sequence[Scalar]
) -> Relation:
    """The rows of `right` that satisfy predicates over a pair of rows, read as a subquery of the left one.

    `predicates` and `pending` read the left row's `width` columns and, behind them, the right row's.
    """

    def own(s: Column | Outer) -> Scalar:
        return Outer(binding, s.index, s.type, s.nullable) if s.index < width else replace(s, index=s.index - width)

    return satisfying(right, *_all_reading(pending, predicates, own))


def outer_join(
    context: BindContext,
    kind: str,
    sides: tuple[Relation, Relation],
    found: Sequence[Pending],
    on: Sequence[Scalar],
    binding: int = 0,
) -> Relation:
    """A join of two sides with subqueries in its ON, of any kind but inner: one side sees the other row by row.

    `binding` is the number by which the right side sees the left one already, 0 if it does not.
    """
    left, right = sides
    width, total = len(left.schema), len(left.schema) + len(right.schema)
    binding = binding or context.number()
    meeting = seen_from_left(right, width, binding, found, on)
    if kind != "full":
        return Apply(kind, left, meeting, (), binding)
    flipped = context.number()
    partners = seen_from_left(left, total - width, flipped, *turned(found, on, width, total))
    alone = Apply("anti", right, partners, (), flipped)
    nulls = Project(padded(alone, left.schema), (*range(total - width, total), *range(total - width)))
    return Union((Apply("left", left, meeting, (), binding), nulls))


def turned(
    pending: Sequence[Pending], predicates: Sequence[Scalar], width: int, total: int
) -> tuple[list[Pending], list[Scalar]]:
    """The same over pairs of rows, of `total` columns together, of which the first, of `width`, has become the last."""

    def swapped(s: Column | Outer) -> Scalar:
        return replace(s, index=s.index + total - width if s.index < width else s.index - width)

    return _all_reading(pending, predicates, swapped)
