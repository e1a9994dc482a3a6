"""Window functions: what stands before OVER, and the relation that computes them for the rows of a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from catalog.types import BIGINT, DOUBLE, INTEGER, NULL
from sql.bind.aggregate_calls import AGGREGATES
from sql.bind.aggregates import bind_aggregate
from sql.bind.binder import Aggregates, Binder, Handler
from sql.bind.column_names import column_name
from sql.bind.context import Context, Refinement
from sql.bind.operand import Operand
from sql.bind.scope import Scope
from sql.bind.window_frames import bind_frame, bind_spec
from sql.bind.window_specs import Spec, term_text
from sql.ir.relation import Filter, Frame, Map, Order, Project, Relation, Window, WindowFunction
from sql.ir.scalar import Column, Literal, Outer, Scalar, columns_of, remap, rewrite

_RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
_VALUES: dict[type[exp.Expr], str] = {
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
}
_SHIFTS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
_AGGREGATES = frozenset(
    ("count_star", "count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop")
)
_BY_PLACE = frozenset(("row_number", "ntile", "lag", "lead"))
_OFFERED = (
    "row_number, rank, dense_rank, ntile, lag, lead, first_value, last_value, nth_value, sum, count, avg, min and max"
)
_WINDOWED = -(1 << 40)
"""The number of the Outers that stand for window functions until they have columns (see `sql.bind.nested`)."""


@dataclass(frozen=True, slots=True)
class _Windowed:
    """One window function over the rows of the block; order terms are (expression, descending, nulls first)."""

    partition: tuple[Scalar, ...]
    order: tuple[tuple[Scalar, bool, bool], ...]
    function: WindowFunction

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Its expressions over the row."""
        return (*self.partition, *(scalar for scalar, _, _ in self.order), *self.function.args)

    def over(self, scalars: Sequence[Scalar]) -> _Windowed:
        """The same with other expressions in place of its own."""
        first = len(self.partition)
        second = first + len(self.order)
        order = tuple((s, d, n) for s, (_, d, n) in zip(scalars[first:second], self.order, strict=True))
        return _Windowed(tuple(scalars[:first]), order, replace(self.function, args=tuple(scalars[second:])))


@dataclass(slots=True)
class Windows:
    """The distinct window functions of a block, each with the text it was written as; and all places they stand in.

    Function i is bound as an Outer, which no rewriting of columns touches, until `windowed` puts a column in its place.
    """

    found: list[_Windowed] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    places: dict[int, tuple[exp.Expr, Spec, WindowFunction]] = field(default_factory=dict)

    def column(self, windowed: _Windowed, name: str) -> Outer:
        """What stands for a function; the same for the same function."""
        if windowed not in self.found:
            self.found.append(windowed)
            self.names.append(name)
        function = windowed.function
        return Outer(_WINDOWED, self.found.index(windowed), function.type, function.nullable)

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
        order = tuple(
            (_key(binder, each.this), bool(each.args.get("desc")), bool(each.args.get("nulls_first")))
            for each in spec.order
        )
        function = _function(binder, node, bind_frame(binder, node, spec))
    finally:
        binder.windows, binder.clause = windows, outer
    order = tuple(term for term in order if not isinstance(term[0], Literal))
    windows.places[id(node)] = node, spec, function
    name = column_name(node, binder.source)
    return Operand(node, windows.column(_Windowed(tuple(dict.fromkeys(partition)), order, function), name))


def _key(binder: Binder, node: exp.Expr) -> Scalar:
    if isinstance(node, exp.Var) and node.name.upper() == "ALL":
        binder.refuse(node, "ORDER BY ALL in a window is not supported; name the columns")
    return _stored(binder.value(node).scalar)


def _stored(scalar: Scalar) -> Scalar:
    return Literal(None, INTEGER) if scalar.type == NULL else scalar


def _function(binder: Binder, node: exp.Expr, frame: Frame) -> WindowFunction:
    call, skips = node.this, False
    if isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        call, skips = call.this, isinstance(call, exp.IgnoreNulls)
    kind = type(call)
    if kind in _RANKS:
        type_ = DOUBLE if kind in (exp.PercentRank, exp.CumeDist) else BIGINT
        return WindowFunction(_RANKS[kind], (), type_, False)
    if kind is exp.Ntile:
        return WindowFunction("ntile", (_positive(binder, call, call.this),), BIGINT, False)
    if kind in _SHIFTS:
        return _shift(binder, call, skips)
    if kind in _VALUES:
        return _value(binder, call, frame, skips)
    return _aggregate(binder, node, call, frame, skips)


def _value(binder: Binder, call: exp.Expr, frame: Frame, skips: bool) -> WindowFunction:
    name = _VALUES[type(call)]
    arg = _argument(binder, call)
    args: tuple[Scalar, ...] = (arg,)
    if name == "nth_value":
        if skips:
            binder.refuse(call, "nth_value() with IGNORE NULLS is not maintained; write first_value or last_value")
        args = (arg, _positive(binder, call, call.args.get("offset")))
    return WindowFunction(name, args, arg.type, True, frame, skips and arg.nullable)


def _argument(binder: Binder, call: exp.Expr) -> Scalar:
    if call.this is None:
        binder.fail(call, "this window function needs an argument")
    if isinstance(call.this, exp.Order | exp.Distinct):
        binder.refuse(call, "ORDER BY and DISTINCT inside a window function are not supported; leave them out")
    return _stored(binder.value(call.this).scalar)


def _positive(binder: Binder, call: exp.Expr, node: exp.Expr | None) -> Literal:
    number = None if node is None else binder.value(node).integer
    if number is None or number < 1:
        binder.refuse(call, "this window function counts by an integer literal of 1 or more; write the number")
    return Literal(number, BIGINT)


def _shift(binder: Binder, call: exp.Expr, skips: bool) -> WindowFunction:
    name, arg = _SHIFTS[type(call)], _argument(binder, call)
    offset, default = 1, Literal(None, arg.type)
    if call.args.get("offset"):
        written = binder.value(call.args["offset"]).integer
        if written is None:
            binder.refuse(call, f"{name}() needs its offset as an integer literal; write the number of rows")
        offset = written
    if call.args.get("default"):
        cast = binder.cast(binder.value(call.args["default"]), arg.type)
        if not isinstance(cast, Literal):
            binder.refuse(call, f"{name}() needs its default as a literal; write coalesce({name}(...) OVER ..., ...)")
        default = cast
    if offset < 0:
        name, offset = ("lead" if name == "lag" else "lag"), -offset
    nullable = arg.nullable or default.nullable
    args = (arg, Literal(offset, BIGINT), default)
    return WindowFunction(name, args, arg.type, nullable, ignore_nulls=skips and arg.nullable and offset > 0)


def _aggregate(binder: Binder, node: exp.Expr, call: exp.Expr, frame: Frame, skips: bool) -> WindowFunction:
    inner = call.this if isinstance(call, exp.Filter) else call
    if not isinstance(inner, AGGREGATES) or skips:
        what = f"{call.sql('duckdb')[:60]} OVER is not maintained"
        binder.refuse(node, f"{what}{' with IGNORE NULLS' if skips else ''}; window functions are {_OFFERED}")
    own, binder.aggregates = binder.aggregates, Aggregates(0, grouped=False)
    known = binder.known
    try:
        if own is not None:
            binder.known = {**known, **_inner_aggregates(binder, inner, own)}
        bind_aggregate(binder, node.this)
        bound = binder.aggregates.found[0]
    finally:
        binder.aggregates, binder.known = own, known
    if bound.function not in _AGGREGATES or bound.distinct or bound.order or bound.others:
        what = f"{inner.sql('duckdb')[:60]} OVER is not maintained"
        binder.refuse(node, f"{what}; window functions are {_OFFERED}, without DISTINCT or ORDER BY inside")
    args = () if bound.arg is None else (bound.arg,)
    counts = bound.function in ("count", "count_star")
    return WindowFunction(bound.function, args, bound.type, not counts, frame)


def _inner_aggregates(binder: Binder, call: exp.Expr, aggregates: Aggregates) -> dict[int, Operand]:
    """The aggregates inside the argument of an aggregate OVER, which are those of the block."""
    outer, binder.aggregates = binder.aggregates, aggregates
    try:
        inside = [n for n in call.find_all(*AGGREGATES) if n is not call]
        outermost = [n for n in inside if not any(a in inside for a in _above(n, call))]
        return {id(n): bind_aggregate(binder, n) for n in outermost}
    finally:
        binder.aggregates = outer


def _above(node: exp.Expr, top: exp.Expr) -> Iterable[exp.Expr]:
    above = node.parent
    while above is not None and above is not top:
        yield above
        above = above.parent


def windowed(
    relation: Relation, windows: Windows, outputs: Sequence[Scalar], specs: Sequence[Scalar], whole: bool
) -> tuple[Relation, list[Scalar], tuple[int, ...]]:
    """The rows with the values of the window functions; `outputs` over them; which columns they were narrowed to.

    `specs` are the expressions of `windows.scalars` over the rows, `outputs` may read both. Unless `whole`, only the
    columns that somebody reads stay, so that these alone break ties.
    """
    if not windows.found:
        return relation, list(outputs), ()
    everything = range(len(relation.schema))
    read = frozenset[int]().union(*map(columns_of, (*outputs, *specs)))
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
        groups.setdefault((each.partition, each.order), []).append(i)
    for members in groups.values():
        each = found[members[0]]
        order = tuple(Order(at[s], descending, first) for s, descending, first in each.order)
        columns.update({i: len(relation.schema) + n for n, i in enumerate(members)})
        relation = Window(
            relation,
            tuple(at[s] for s in each.partition),
            order,
            tuple(found[i].function for i in members),
            tuple(windows.names[i] for i in members),
        )
    return relation, [_settled(remap(s, places.__getitem__), columns) for s in outputs], kept


def _settled(scalar: Scalar, columns: dict[int, int]) -> Scalar:
    """The expression with window functions read from their columns."""

    def settle(s: Scalar) -> Scalar:
        if isinstance(s, Outer) and s.binding == _WINDOWED:
            return Column(columns[s.index], s.type, s.nullable)
        return s

    return rewrite(scalar, settle)


def _with_keys(relation: Relation, found: Sequence[_Windowed]) -> tuple[Relation, dict[Scalar, int]]:
    """The rows with a column for each expression of PARTITION BY and ORDER BY, and where each stands."""
    keys = dict.fromkeys(s for each in found for s in (*each.partition, *(scalar for scalar, _, _ in each.order)))
    computed = [key for key in keys if not isinstance(key, Column)]
    width = len(relation.schema)
    if computed:
        relation = Map(relation, tuple(computed), tuple(f"key{i}" for i in range(len(computed))))
    return relation, {k: k.index if isinstance(k, Column) else width + computed.index(k) for k in keys}


def with_windows(
    context: Context,
    relation: Relation,
    scalars: Sequence[Scalar],
    windows: Windows,
    counts: tuple[int, int],
    ties: Scope | Sequence[str],
) -> tuple[Relation, list[Scalar]]:
    """The rows that QUALIFY leaves, with the values of the window functions, and the expressions over them.

    `scalars` are `counts[0]` expressions of the block, `counts[1]` predicates of QUALIFY, and `windows.scalars`.
    `ties`: the scope of the rows, or of groups the expressions that they are made by.
    """
    first, last = counts[0], sum(counts)
    whole = not isinstance(ties, Scope)
    relation, over, kept = windowed(relation, windows, scalars[:last], scalars[last:], whole)
    if windows.found:
        names = tie_names(ties, kept) if isinstance(ties, Scope) else ties
        context.windows.extend(refinements(windows, names or ()))
    predicates = tuple(over[first:])
    return Filter(relation, predicates) if predicates else relation, over[:first]


def key_texts(items: Sequence[exp.Expr], group: exp.Expr | None) -> list[str]:
    """The expressions of GROUP BY in SQL."""
    if group is None:
        return []
    if group.args.get("all"):
        return [item.unalias().sql("duckdb") for item in items if not item.find(*AGGREGATES)]
    found = []
    for node in group.expressions:
        at_position = isinstance(node, exp.Literal) and node.is_int
        found.append((items[int(node.name) - 1] if at_position else node).unalias().sql("duckdb"))
    return found


def refinements(windows: Windows, ties: Sequence[str]) -> list[Refinement]:
    """A refinement for each place where a window function stands whose value depends on how ties are broken."""
    found = []
    added = ", ".join(f"{tie} ASC NULLS LAST" for tie in ties)
    for node, spec, function in windows.places.values():
        call = node.this
        while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            call = call.this
        if not ties or "start" not in call.meta:
            continue
        refined = _refinement(call.meta["start"], spec, function, added)
        if refined is not None:
            found.append(refined)
    return found


def _refinement(call: int, spec: Spec, function: WindowFunction, added: str) -> Refinement | None:
    frame = function.frame
    if function.function in _BY_PLACE:
        return Refinement(call, spec.text(added))
    if function.function in _VALUES.values():
        if frame.peers or (frame.start, frame.end) == (None, None):
            terms = ", ".join([*(term_text(node) for node in spec.order), added])
            return Refinement(call, within=f"ORDER BY {terms}")
        return Refinement(call, spec.text(added))
    if function.function in _AGGREGATES and not frame.peers and (frame.start, frame.end) != (None, None):
        return Refinement(call, spec.text(added))
    return None


def tie_names(scope: Scope, columns: Sequence[int]) -> list[str] | None:
    """The names by which SQL calls the columns that break ties; None if one of them has none."""
    known = {c.column.index: c for c in scope.columns}
    if any(column not in known for column in columns):
        return None
    return [_name(known[column].table, known[column].name) for column in columns]


def _name(table: str, name: str) -> str:
    column = exp.to_identifier(name, quoted=True).sql("duckdb")
    if not table or " and " in table:  # a column of USING belongs to no table
        return column
    return f"{exp.to_identifier(table, quoted=True).sql('duckdb')}.{column}"


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Window: bind_window}

