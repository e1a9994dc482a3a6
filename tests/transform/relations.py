"""Random relations over two small tables, and random contents for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, VARCHAR, SqlType, decimal, list_of
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.relation import (
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    Map,
    Negate,
    Order,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, Value
from ivm.sql.ir.window_function import WindowFunction
from tests.windows.worlds import functions

MONEY = decimal(6, 2)
KEYED = Get(
    "keyed",
    (Field("id", BIGINT, False), Field("ref", BIGINT), Field("name", VARCHAR), Field("price", MONEY)),
    ((0,),),
    references=(Reference((1,), "keyed", (0,)),),
)
LOOSE = Get("loose", (Field("x", BIGINT), Field("y", BIGINT, False), Field("s", VARCHAR)))
VALUES: dict[SqlType, list[Value]] = {BIGINT: [0, 1, 2], VARCHAR: ["", "a"], MONEY: [0, 100], BOOLEAN: [True, False]}
KINDS = ["eq", "eq", "lt", "ge", "ge", "ne", "ne", "in", "is_null", "and", "or", "or", "not", "cast", "either"]
COMPARED = (BIGINT, VARCHAR, MONEY)


def values(type_: SqlType, nullable: bool = True):
    return st.sampled_from([*VALUES[type_] * 2, None] if nullable else VALUES[type_])


@st.composite
def tables(draw):
    """Contents: `keyed` has unique ids, which its refs refer to; `loose` has rows with multiplicities."""
    names, prices, refs = values(VARCHAR), values(MONEY), values(BIGINT)
    ids = draw(st.sampled_from([(0, 1, 2, 3), (0, 1, 2), (0, 1, 2, 5), ()]))
    rows = [(i, draw(refs), draw(names), draw(prices)) for i in ids]
    loose = st.tuples(values(BIGINT), values(BIGINT, False), values(VARCHAR))
    return {
        "keyed": Counter(rows),
        "loose": Counter(draw(st.lists(loose, min_size=draw(st.sampled_from([3, 4, 0])), max_size=7))),
    }


def row(relation: Relation) -> list[Column]:
    return [Column(i, f.type, f.nullable) for i, f in enumerate(relation.schema)]


@st.composite
def scalars(draw, columns, type_: SqlType, depth: int = 2) -> Scalar:
    """An expression of `type_` over the columns; some raise on some rows."""
    leaves = [c for c in columns if c.type == type_]
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        if leaves and draw(st.integers(0, 3)):
            return draw(st.sampled_from(leaves))
        if type_ in VALUES:
            return Literal(draw(values(type_)), type_)
    if type_ == BOOLEAN:
        return draw(predicates(columns, depth))
    kind = draw(st.sampled_from(["add", "case", "idiv", "coalesce"] if type_ == BIGINT else ["case", "coalesce"]))
    parts = [draw(scalars(columns, type_, max(depth - 1, 0))) for _ in range(2)] if type_ in VALUES else []
    if not parts:
        return Literal(None, type_)
    if kind == "case":
        return Call("case", (draw(predicates(columns, max(depth - 1, 0))), *parts), type_)
    return Call(kind, tuple(parts), type_, any(p.nullable for p in parts))


@st.composite
def predicates(draw, columns, depth: int = 2) -> Scalar:
    """A BOOLEAN expression over the columns."""
    kind = draw(st.sampled_from(KINDS))
    if depth == 0 and kind in ("and", "or", "not", "either"):
        kind = "eq"
    if kind == "either" and columns:
        return draw(choices(columns))
    if kind in ("and", "or"):
        args = tuple(draw(predicates(columns, depth - 1)) for _ in range(draw(st.integers(2, 3))))
        return Call(kind, args, BOOLEAN)
    if kind == "not":
        return Call("not", (draw(predicates(columns, depth - 1)),), BOOLEAN)
    subjects = [c for c in columns if c.type in COMPARED]
    type_ = draw(st.sampled_from([c.type for c in subjects] or COMPARED))
    plain = [c for c in subjects if c.type == type_] if draw(st.integers(0, 3)) else []
    left = draw(st.sampled_from(plain) if plain else scalars(columns, type_, max(depth - 1, 0)))
    if kind == "is_null":
        return Call("is_null", (left,), BOOLEAN, False)
    if kind == "in":
        return Call("in", (left, *(Literal(v, type_) for v in draw(st.lists(values(type_), min_size=1)))), BOOLEAN)
    right = draw(scalars(columns, type_, max(depth - 1, 0)))
    if kind == "cast" and type_ != VARCHAR:
        wide = HUGEINT if type_ == BIGINT else decimal(8, 3)
        left, right = (Call("cast", (s,), wide, s.nullable) for s in (left, right))
    return Call(
        kind if kind not in ("cast", "either") else "eq", (left, right), BOOLEAN, left.nullable or right.nullable
    )


@st.composite
def choices(draw, columns) -> Scalar:
    """`a = 1 AND b = 2 OR a = 2 AND b = 1`, as an OR over several inputs of a join looks."""
    typed = [c for c in columns if c.type in VALUES] or [Literal(1, BIGINT)]
    picked = [draw(st.sampled_from(typed)) for _ in range(draw(st.integers(1, 3)))]
    arms = []
    for _ in range(2):
        equalities = [Call("eq", (c, Literal(draw(values(c.type, False)), c.type)), BOOLEAN) for c in picked]
        arms.append(Call("and", (*equalities, draw(predicates(columns, 0))), BOOLEAN))
    return Call("or", tuple(arms), BOOLEAN)


AGGREGATES = {"count_star": BIGINT, "count": BIGINT, "sum": HUGEINT, "min": BIGINT, "max": BIGINT, "avg": DOUBLE}
ORDERED = ("mode", "arg_min", "arg_max", "quantile_disc")


@st.composite
def reduces(draw, below: Relation) -> Relation:
    columns = row(below)
    keys = tuple(
        draw(st.one_of(st.sampled_from(columns), scalars(columns, BIGINT, 1))) for _ in range(draw(st.integers(0, 3)))
    )
    aggregates = []
    for _ in range(draw(st.integers(0 if keys else 1, 2))):
        function = draw(st.sampled_from([*sorted(AGGREGATES), *ORDERED]))
        arg = None if function == "count_star" else draw(scalars(columns, BIGINT, 1))
        type_ = AGGREGATES.get(function, BIGINT)
        aggregate = Aggregate(function, arg, type_, not function.startswith("count"))
        if function in ("arg_min", "arg_max"):
            aggregate = replace(aggregate, others=(draw(scalars(columns, BIGINT, 1)),))
        elif function == "quantile_disc":
            aggregate = replace(aggregate, parameters=(Literal(5, decimal(2, 1)),))
        if arg is not None and function not in ORDERED[:3]:
            aggregate = replace(aggregate, distinct=draw(st.sampled_from([False, False, True])))
        aggregates.append(aggregate)
    names = tuple(f"r{i}" for i in range(len(keys) + len(aggregates)))
    return Reduce(below, keys, tuple(aggregates), names)


@st.composite
def windows(draw, below: Relation) -> Relation:
    """Window functions over the rows, often with a bound on the last of them, a number or a rank."""
    columns = row(below)
    chosen = draw(st.lists(functions(tuple((c.type, c.nullable) for c in columns)), max_size=2))
    chosen.append(WindowFunction(draw(st.sampled_from(["row_number", "rank", "dense_rank"])), (), BIGINT, False))
    orders = tuple(Order(c.index, draw(st.booleans()), draw(st.booleans())) for c in columns[: draw(st.integers(0, 2))])
    partition = tuple(draw(st.lists(st.sampled_from(range(len(columns))), max_size=1)))
    window = Window(below, partition, orders, tuple(chosen), tuple(f"w{i}" for i in range(len(chosen))))
    if draw(st.booleans()):
        return window
    kind, limit = draw(st.sampled_from(["le", "lt", "eq", "ge"])), Literal(draw(st.integers(0, 3)), BIGINT)
    return Filter(window, (Call(kind, (row(window)[-1], limit), BOOLEAN, False),))


@st.composite
def unnests(draw, below: Relation) -> Relation:
    columns = row(below)
    kinds = draw(st.lists(st.sampled_from(["values", "values", "range"]), min_size=1, max_size=2))
    lists = []
    for kind in kinds:
        parts = tuple(draw(scalars(columns, BIGINT, 1)) for _ in range(draw(st.integers(1, 2))))
        if kind == "range":
            plain: list[Scalar] = [c for c in columns if c.type == BIGINT and not c.nullable]
            end = draw(st.sampled_from([*plain, Literal(2, BIGINT)]))
            bounds = (
                Literal(0, BIGINT),
                Call("least", (end, Literal(3, BIGINT)), BIGINT, False),
                Literal(1, BIGINT),
            )
            lists.append(Call("range", bounds, list_of(BIGINT), False))
        else:
            lists.append(Call("list_value", parts, list_of(BIGINT), False))
    numbered = draw(st.booleans())
    names = tuple(f"e{i}" for i in range(len(lists) + numbered))
    return Unnest(below, tuple(lists), names, numbered, draw(st.booleans()))


@st.composite
def joins(draw, depth: int, leaves: Sequence[Relation]) -> Relation:
    inputs = tuple(draw(relations(depth - 1, leaves)) for _ in range(draw(st.integers(1, 3)) if depth > 1 else 2))
    schema = [f for each in inputs for f in each.schema]
    groups: list[tuple[int, ...]] = []
    free = set(range(len(schema)))
    for _ in range(draw(st.integers(0, 2))):
        type_ = draw(st.sampled_from(COMPARED))
        fit = [c for c in sorted(free) if schema[c].type == type_]
        if len(fit) > 1:
            group = draw(st.lists(st.sampled_from(fit), min_size=2, max_size=3, unique=True))
            groups.append(tuple(sorted(group)))
            free -= set(group)
    joined = Join(inputs, tuple(groups))
    return Filter(joined, tuple(draw(predicates(row(joined))) for _ in range(draw(st.integers(0, 2)))))


@st.composite
def nearest(draw: st.DrawFn, left: Relation, right: Relation) -> Relation:
    """An ASOF join of two relations by columns of the same type, if they have any."""
    pairs = [(c.index, d.index) for c in row(left) for d in row(right) if c.type == d.type]
    if not pairs:
        return left
    keys = tuple(draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True)))
    function = draw(st.sampled_from(["ge", "gt", "le", "lt"]))
    return Asof(left, right, keys, draw(st.sampled_from(pairs)), function, draw(st.booleans()))


@st.composite
def relations(draw, depth: int = 4, leaves: Sequence[Relation] = (KEYED, LOOSE)) -> Relation:
    """A relation of at most `depth` nodes above its tables, with non-negative multiplicities."""
    if depth == 0:
        return draw(st.sampled_from(leaves))
    kind = draw(
        st.sampled_from(
            [
                "map",
                "filter",
                "filter",
                "project",
                "join",
                "join",
                "join",
                "reduce",
                "topk",
                "window",
                "asof",
                "unnest",
                "union",
                "difference",
                "constant",
            ]
        )
    )
    if kind == "join":
        return draw(joins(min(depth, 3), leaves))
    below = draw(relations(depth - 1, leaves))
    columns = row(below)
    match kind:
        case "map":
            added = tuple(
                draw(scalars(columns, draw(st.sampled_from(COMPARED)))) for _ in range(draw(st.integers(1, 2)))
            )
            return Map(below, added, tuple(f"m{i}" for i in range(len(added))))
        case "filter":
            return Filter(below, tuple(draw(predicates(columns)) for _ in range(draw(st.integers(1, 2)))))
        case "project" if columns:
            picked = tuple(draw(st.lists(st.sampled_from(range(len(columns))), max_size=4)))
            return Project(below, picked, tuple(f"p{i}" for i in range(len(picked))))
        case "reduce" if columns:
            return draw(reduces(below))
        case "topk" if columns:
            orders = [Order(c.index, draw(st.booleans()), draw(st.booleans())) for c in columns[:2]]
            group = tuple(draw(st.lists(st.sampled_from(range(len(columns))), max_size=1)))
            limit = draw(st.sampled_from([None, 2, 1, 3, 0]))
            ties = limit is not None and draw(st.booleans())
            return TopK(below, group, tuple(orders), limit, 0 if ties else draw(st.integers(0, 1)), ties)
        case "window" if columns:
            return draw(windows(below))
        case "asof":
            return draw(nearest(below, draw(relations(depth - 1, leaves))))
        case "unnest":
            return draw(unnests(below))
        case "union":
            return Union((below, Filter(below, (draw(predicates(columns)),))))
        case "difference":
            return Threshold(Union((below, Negate(Filter(below, (draw(predicates(columns)),))))))
        case "constant":
            rows = tuple((draw(values(BIGINT)), draw(values(VARCHAR))) for _ in range(draw(st.sampled_from([2, 1, 0]))))
            return Constant(rows, (Field("n", BIGINT), Field("t", VARCHAR)))
    return below
