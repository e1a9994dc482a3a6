"""Random relations with dependent joins of every kind at any depth, and random contents for their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, HUGEINT, VARCHAR, SqlType, list_of
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.relation import (
    Apply,
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
)
from ivm.sql.ir.scalar import Call, Column, Literal, Outer, Scalar

LEFT = Get("l", (Field("a", BIGINT), Field("b", BIGINT, False), Field("s", VARCHAR)))
RIGHT = Get("r", (Field("x", BIGINT), Field("y", BIGINT, False), Field("t", VARCHAR)))
KEYED = Get("k", (Field("id", BIGINT, False), Field("v", BIGINT), Field("w", VARCHAR)), ((0,),))
KINDS = ("inner", "left", "full", "semi", "anti", "mark", "single")
_NUMBERS, _TEXTS = st.sampled_from([0, 1, 2, None]), st.sampled_from(["", "a", None])
_BAGS = st.lists(st.tuples(_NUMBERS, st.integers(0, 2), _TEXTS), max_size=5).map(Counter)


@st.composite
def contents(draw):
    """Rows for the three tables, with NULLs and duplicates; `k` has unique ids."""
    ids = draw(st.lists(st.integers(0, 3), unique=True, max_size=4))
    return {"l": draw(_BAGS), "r": draw(_BAGS), "k": Counter((i, draw(_NUMBERS), draw(_TEXTS)) for i in ids)}


@dataclass(frozen=True)
class Around:
    """The outer rows in reach, innermost last, and where the next number of an Apply comes from."""

    numbers: Iterator[int]
    rows: tuple[tuple[Outer, ...], ...] = ()

    def inside(self, left: Relation, binding: int) -> Around:
        outer = tuple(Outer(binding, i, f.type, f.nullable) for i, f in enumerate(left.schema))
        return Around(self.numbers, (*self.rows, outer))

    def read(self, draw, type_: SqlType) -> list[Outer]:
        """Columns of one of the outer rows; mostly the nearest."""
        if not self.rows:
            return []
        near = len(self.rows) - 1
        row = self.rows[draw(st.sampled_from([near, near, near, max(near - 1, 0), 0]))]
        return [c for c in row if c.type == type_]


def row(relation: Relation, start: int = 0) -> list[Column]:
    return [Column(start + i, f.type, f.nullable) for i, f in enumerate(relation.schema)]


@st.composite
def values(draw, columns: list[Column], around: Around, type_: SqlType = BIGINT) -> Scalar:
    """A column, outer column, literal or expression of them."""
    own = [c for c in columns if c.type == type_]
    outer = around.read(draw, type_)
    kind = draw(st.sampled_from(["own", "own", "own", "outer", "outer", "literal", "coalesce", "add"]))
    if kind == "own" and own:
        return draw(st.sampled_from(own))
    if kind in ("outer", "own", "coalesce", "add") and outer:
        read: Scalar = draw(st.sampled_from(outer))
        if kind == "coalesce" and own:
            return Call("coalesce", (draw(st.sampled_from(own)), read), type_)
        if kind == "add" and type_ == BIGINT and own:
            return Call("add", (draw(st.sampled_from(own)), read), BIGINT)
        return read
    if type_ == VARCHAR:
        return Literal(draw(st.sampled_from(["", "a", None])), VARCHAR)
    return Literal(draw(st.sampled_from([0, 1, 2, None])), type_)


@st.composite
def predicates(draw, columns: list[Column], around: Around) -> Scalar:
    """Mostly comparisons of a column with an outer one."""
    type_ = draw(st.sampled_from([BIGINT, BIGINT, VARCHAR]))
    own = [c for c in columns if c.type == type_]
    outer = around.read(draw, type_)
    one = draw(st.sampled_from(own)) if own else draw(values(columns, around, type_))
    other = draw(st.sampled_from(outer)) if outer else draw(values(columns, around, type_))
    if draw(st.integers(0, 4)) == 0:
        other = draw(values(columns, around, type_))
    if draw(st.booleans()):
        one, other = other, one
    nullable = one.nullable or other.nullable
    match draw(st.sampled_from(["eq"] * 5 + ["safe", "lt", "ge", "ne", "null", "or", "not"])):
        case "safe":
            return Call("not", (Call("is_distinct", (one, other), BOOLEAN, False),), BOOLEAN, False)
        case "null":
            return Call("is_null", (one,), BOOLEAN, False)
        case "or":
            null = Call("is_null", (other,), BOOLEAN, False)
            return Call("or", (Call("eq", (one, other), BOOLEAN, nullable), null), BOOLEAN, nullable)
        case "not":
            return Call("not", (Call("eq", (one, other), BOOLEAN, nullable),), BOOLEAN, nullable)
        case function:
            return Call(function, (one, other), BOOLEAN, nullable)


@st.composite
def applies(draw, around: Around, depth: int) -> Relation:
    """A dependent join; its right side reads the left one's row and those further out."""
    binding = next(around.numbers)
    left = draw(relations(around, depth - 1))
    kind = draw(st.sampled_from(KINDS))
    inside = around if kind == "full" else around.inside(left, binding)
    right = draw(relations(inside, depth - 1))
    if draw(st.booleans()):
        right = Filter(right, (draw(predicates(row(right), inside)),))
    if kind == "single" and draw(st.booleans()) and right.schema:
        right = TopK(right, (), (Order(0),), 1)
    both = row(left) + row(right, len(left.schema))
    tests = tuple(draw(predicates(both, around)) for _ in range(draw(st.sampled_from([0, 0, 1]))))
    return Apply(kind, left, right, tests, binding)


@st.composite
def reduces(draw, below: Relation, around: Around) -> Relation:
    columns = row(below)
    keys = tuple(draw(values(columns, around)) for _ in range(draw(st.sampled_from([0, 0, 1, 2]))))
    aggregates = []
    for _ in range(draw(st.integers(0 if keys else 1, 2))):
        function, type_ = draw(
            st.sampled_from([("count_star", BIGINT), ("count", BIGINT), ("sum", HUGEINT), ("min", BIGINT)])
        )
        arg = None if function == "count_star" else draw(values(columns, around))
        aggregates.append(Aggregate(function, arg, type_, not function.startswith("count")))
    names = tuple(f"g{i}" for i in range(len(keys) + len(aggregates)))
    reduced = Reduce(below, keys, tuple(aggregates), names)
    # What is above reads BIGINT columns.
    sums = tuple(Call("cast", (c,), BIGINT, c.nullable) for c in row(reduced) if c.type == HUGEINT)
    if not sums:
        return reduced
    mapped = Map(reduced, sums, tuple(f"c{i}" for i in range(len(sums))))
    return Project(mapped, tuple(c.index for c in row(mapped) if c.type != HUGEINT))


@st.composite
def relations(draw, around: Around, depth: int) -> Relation:
    """A relation of at most `depth` nodes above its tables."""
    if depth <= 0:
        return draw(st.sampled_from([LEFT, RIGHT, KEYED]))
    kind = draw(
        st.sampled_from(
            ["apply"] * 3
            + ["filter"] * 4
            + ["reduce"] * 3
            + ["unnest"] * 2
            + ["map", "project", "join", "top", "union", "except", "one"]
        )
    )
    if kind == "apply":
        return draw(applies(around, depth))
    below = draw(relations(around, depth - 1))
    columns = row(below)
    match kind:
        case "filter":
            return Filter(below, tuple(draw(predicates(columns, around)) for _ in range(draw(st.integers(1, 2)))))
        case "reduce":
            return draw(reduces(below, around))
        case "map":
            return Map(below, (draw(values(columns, around)), draw(values(columns, around, VARCHAR))), ("m", "n"))
        case "project" if columns:
            picked = tuple(draw(st.lists(st.sampled_from(range(len(columns))), min_size=1, max_size=3)))
            return Project(below, picked, tuple(f"p{i}" for i in range(len(picked))))
        case "join":
            other = draw(relations(around, depth - 1))
            numbers = [[c.index for c in row(r) if c.type == BIGINT] for r in (below, other)]
            if all(numbers) and draw(st.booleans()):
                group = (draw(st.sampled_from(numbers[0])), len(columns) + draw(st.sampled_from(numbers[1])))
                return Join((below, other), (group,))
            return Join((below, other))
        case "top" if columns:
            group = tuple(draw(st.lists(st.sampled_from(range(len(columns))), max_size=1)))
            order = Order(draw(st.sampled_from(range(len(columns)))), draw(st.booleans()), draw(st.booleans()))
            return TopK(below, group, (order,), draw(st.sampled_from([1, 2, None])), draw(st.sampled_from([0, 0, 1])))
        case "unnest":
            over = draw(st.sampled_from([below, Constant(((),), ())]))
            read = row(over)
            parts = tuple(draw(values(read, around)) for _ in range(draw(st.integers(1, 2))))
            lists = (Call("list_value", parts, list_of(BIGINT), False),)
            made = Unnest(over, lists, ("e",), optional=draw(st.booleans()))
            return Filter(made, (draw(predicates(row(made), around)),)) if draw(st.booleans()) else made
        case "union":
            return Union((below, Filter(below, (draw(predicates(columns, around)),))))
        case "except":
            removed = Filter(below, (draw(predicates(columns, around)),))
            return Threshold(Union((below, Negate(removed))))
        case "one":
            outer = around.read(draw, BIGINT)
            return Map(Constant(((),), ()), (outer[0] if outer else Literal(1, BIGINT),), ("o",))
    return below


@st.composite
def queries(draw, depth: int = 4) -> Relation:
    """A relation with a dependent join at its top, that reads nothing from outside."""
    return draw(applies(Around(count(1)), depth))
