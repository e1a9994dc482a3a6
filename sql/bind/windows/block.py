"""Window functions of a block: what stands for them while it is bound, and the relation that computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ivm.sql.bind.context import BindContext, Refinement
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.columns import column_name
from ivm.sql.bind.names.scope import WINDOWED, Scope
from ivm.sql.bind.windows.framed import FramedAggregate, with_framed
from ivm.sql.bind.windows.frames import Term, bind_frame
from ivm.sql.bind.windows.functions import VALUES, bind_function, bind_spec
from ivm.sql.bind.windows.own_order import own_order, with_own_order
from ivm.sql.bind.windows.partitions import Composed, with_aggregates
from ivm.sql.bind.windows.specs import Spec
from ivm.sql.decorrelate.expand_joins import filtered, with_columns
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AGGREGATES
from ivm.sql.ir.rebuild import outers, relation_scalars
from ivm.sql.ir.relation import Apply, Order, Project, Relation, Window
from ivm.sql.ir.scalar import Column, Literal, Outer, Scalar, columns_of, remap, rewrite
from ivm.sql.ir.window_function import UNFRAMED, WindowFunction

_BY_PLACE = frozenset(("row_number", "ntile", "lag", "lead"))


@dataclass(frozen=True, slots=True)
class _Windowed:
    """One window function over the rows of the block; order terms are (expression, descending, nulls first)."""

    partition: tuple[Scalar, ...]
    order: tuple[tuple[Scalar, bool, bool], ...]
    function: WindowFunction | Aggregate | FramedAggregate

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Its expressions over the row."""
        return (*self.partition, *(scalar for scalar, _, _ in self.order), *self.function.scalars)

    def over(self, scalars: Sequence[Scalar]) -> _Windowed:
        """The same with other expressions in place of its own."""
        first = len(self.partition)
        second = first + len(self.order)
        order = tuple((s, d, n) for s, (_, d, n) in zip(scalars[first:second], self.order, strict=True))
        own = scalars[second:]
        if isinstance(self.function, Aggregate):
            rest = iter(own)
            return _Windowed(tuple(scalars[:first]), order, self.function.map(lambda _: next(rest)))
        return _Windowed(tuple(scalars[:first]), order, self.function.over(own))


@dataclass(slots=True)
class Windows:
    """The distinct window functions of a block, each with the text it was written as; and all places they stand in.

    Function i is bound as an Outer, which no rewriting of columns touches, until `windowed` puts a column in its place.
    """

    found: list[_Windowed] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    places: dict[int, tuple[exp.Expr, Spec, WindowFunction | FramedAggregate]] = field(default_factory=dict)

    def column(self, windowed: _Windowed, name: str) -> Outer:
        """What stands for a function; the same for the same function."""
        if windowed not in self.found:
            self.found.append(windowed)
            self.names.append(name)
        function = windowed.function
        return Outer(WINDOWED, self.found.index(windowed), function.type, function.nullable)

    @property
    def scalars(self) -> list[Scalar]:
        """The expressions of all functions over the rows."""
        return [scalar for each in self.found for scalar in each.scalars]


def bind_window(binder: Binder, node: exp.Expr) -> Operand:
    """A function OVER (...), as the column that stands for it."""
    windows = binder.windows
    if not isinstance(windows, Windows):
        what = f"a window function (OVER) cannot stand in {binder.clause}"
        binder.fail(node, f"{what}; filter on it in QUALIFY, or compute it in a subquery in FROM")
    binder.windows = None
    outer, binder.clause = binder.clause, "a window function"
    try:
        spec = bind_spec(binder, node)
        partition = tuple(_key(binder, each) for each in spec.partition)
        order = _terms(binder, spec)
        framed = bind_frame(binder, node, spec, order)
        if own_order(node):
            spec = with_own_order(binder, node, spec, framed)
            order = _terms(binder, spec)
        function = bind_function(binder, node, spec, framed)
    finally:
        binder.windows, binder.clause = windows, outer
    keys = tuple(dict.fromkeys(partition))
    if isinstance(function, Composed):
        first, own = function.functions[0], framed.order
        if isinstance(first, Aggregate):
            own = ()
        elif isinstance(first, WindowFunction) and first.function in UNFRAMED:
            own = order
        else:
            windows.places[id(node)] = node, spec, first
        parts = zip(function.functions, function.names, strict=True)
        return Operand(node, function.over([windows.column(_Windowed(keys, own, each), name) for each, name in parts]))
    order = framed.order if function.function not in UNFRAMED else order
    windows.places[id(node)] = node, spec, function
    name = column_name(node, binder.source)
    return Operand(node, windows.column(_Windowed(keys, order, function), name))


def _terms(binder: Binder, spec: Spec) -> tuple[Term, ...]:
    """ORDER BY, without constants."""
    order = (
        (_key(binder, each.this), bool(each.args.get("desc")), bool(each.args.get("nulls_first")))
        for each in spec.order
    )
    return tuple(term for term in order if not isinstance(term[0], Literal))


def _key(binder: Binder, node: exp.Expr) -> Scalar:
    if isinstance(node, exp.Var) and node.name.upper() == "ALL":
        binder.refuse(node, "ORDER BY ALL in a window is not supported; name the columns")
    return binder.bind(node).stored


def windowed(
    relation: Relation,
    windows: Windows,
    outputs: Sequence[Scalar],
    specs: Sequence[Scalar],
    whole: bool,
    numbers: Callable[[], int],
) -> tuple[Relation, list[Scalar], tuple[int, ...]]:
    """The rows with the values of the window functions; `outputs` over them; which columns they were narrowed to.

    `specs` are the expressions of `windows.scalars` over the rows, `outputs` may read both. Unless `whole`, only the
    columns that somebody reads stay, so that these alone break ties. `numbers`: for subqueries.
    """
    if not windows.found:
        return relation, list(outputs), ()
    everything = range(len(relation.schema))
    read = _with_sources(relation, frozenset[int]().union(*map(columns_of, (*outputs, *specs))))
    kept = tuple(c for c in everything if whole or c in read) or tuple(everything[:1])
    places = {c: i for i, c in enumerate(kept)}
    relation = relation if kept == tuple(everything) else Project(relation, kept)
    rest = [remap(s, places.__getitem__) for s in specs]
    found = []
    for each in windows.found:
        count = len(each.scalars)
        found.append(each.over(rest[:count]))
        rest = rest[count:]
    relation, at = _with_keys(relation, found)
    columns: dict[int, int] = {}
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, each in enumerate(found):
        groups.setdefault((each.partition, each.order, type(each.function)), []).append(i)
    for members in groups.values():
        columns.update({i: len(relation.schema) + n for n, i in enumerate(members)})
        names = tuple(windows.names[i] for i in members)
        relation = _with_values(relation, [found[i] for i in members], names, at, numbers)
    return relation, [_settled(remap(s, places.__getitem__), columns) for s in outputs], kept


def _with_values(
    relation: Relation,
    found: Sequence[_Windowed],
    names: tuple[str, ...],
    at: Mapping[Scalar, int],
    numbers: Callable[[], int],
) -> Relation:
    """The rows with the values of functions of equal partitions and order, and of one kind."""
    partition = tuple(at[s] for s in found[0].partition)
    aggregates = [each.function for each in found if isinstance(each.function, Aggregate)]
    if aggregates:
        return with_aggregates(relation, partition, aggregates, names)
    order = tuple(Order(at[s], descending, first) for s, descending, first in found[0].order)
    framed = [each.function for each in found if isinstance(each.function, FramedAggregate)]
    if framed:
        return with_framed(relation, numbers, partition, order, framed, names)
    functions = tuple(each.function for each in found if isinstance(each.function, WindowFunction))
    return Window(relation, partition, order, functions, names)


def _with_sources(relation: Relation, read: frozenset[int]) -> frozenset[int]:
    """The columns, and those that the subqueries read which append some of them: they decide what comes of these."""
    while isinstance(relation, Apply):
        width = len(relation.left.schema)
        if any(column >= width for column in read):
            read |= outers(relation_scalars(relation.right), relation.binding)
        relation = relation.left
    return read


def _settled(scalar: Scalar, columns: dict[int, int]) -> Scalar:
    """The expression with window functions read from their columns."""

    def settle(s: Scalar) -> Scalar:
        if isinstance(s, Outer) and s.binding == WINDOWED:
            return Column(columns[s.index], s.type, s.nullable)
        return s

    return rewrite(scalar, settle)


def _with_keys(relation: Relation, found: Sequence[_Windowed]) -> tuple[Relation, dict[Scalar, int]]:
    """The rows with a column for each expression of PARTITION BY and ORDER BY, and where each stands."""
    keys = list(dict.fromkeys(s for each in found for s in (*each.partition, *(scalar for scalar, _, _ in each.order))))
    relation, places = with_columns(relation, keys, "key")
    return relation, dict(zip(keys, places, strict=True))


def with_windows(
    context: BindContext,
    relation: Relation,
    scalars: Sequence[Scalar],
    windows: Windows,
    counts: tuple[int, int],
    ties: Scope | Sequence[exp.Expr],
    qualify: exp.Expr | None,
) -> tuple[Relation, list[Scalar]]:
    """The rows that QUALIFY leaves, with the values of the window functions, and the expressions over them.

    `scalars` are `counts[0]` expressions of the block, `counts[1]` predicates of QUALIFY, and `windows.scalars`.
    `ties`: the scope of the rows, or of groups the expressions that they are made by.
    """
    first, last = counts[0], sum(counts)
    whole = not isinstance(ties, Scope)
    relation, over, kept = windowed(relation, windows, scalars[:last], scalars[last:], whole, context.number)
    if windows.found:
        names = tie_names(ties, kept) if isinstance(ties, Scope) else ties
        context.windows.extend(refinements(windows, names))
    elif counts[1]:
        context.fail(qualify, "QUALIFY needs a window function; filter with WHERE or HAVING")
    return filtered(relation, tuple(over[first:])), over[:first]


def refinements(windows: Windows, ties: Sequence[exp.Expr]) -> list[Refinement]:
    """A refinement for each place where a window function stands whose value depends on how ties are broken."""
    found = [_refinement(node, spec, function, tuple(ties)) for node, spec, function in windows.places.values()]
    return [each for each in found if each is not None] if ties else []


def _refinement(
    node: exp.Expr, spec: Spec, function: WindowFunction | FramedAggregate, ties: tuple[exp.Expr, ...]
) -> Refinement | None:
    frame, whole = function.frame, function.frame.is_whole
    if isinstance(function, FramedAggregate):
        by_rows = not frame.peers and not whole
        return Refinement(node, spec, ties, within=not by_rows) if by_rows or function.in_order else None
    if function.function in _BY_PLACE:  # whatever its frame, which DuckDB takes by RANGE with one term alone
        return Refinement(node, replace(spec, frame=None), ties)
    if function.function in VALUES.values():
        return Refinement(node, spec, ties, within=frame.peers or whole)
    if function.function in AGGREGATES and not frame.peers and not whole:
        return Refinement(node, spec, ties)
    return None


def tie_names(scope: Scope, columns: Sequence[int]) -> list[exp.Expr]:
    """The columns that break ties, by name; those not in the scope are subqueries', which the others decide."""
    known = {c.column.index: c for c in scope.columns}
    named = (known[column] for column in columns if column in known)
    # A column of USING belongs to no table.
    return [exp.column(c.name, c.table if scope.has(c.table) else None, quoted=True) for c in named]


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Window: bind_window}
