"""Relational nodes over bags with signed multiplicities.

A relation denotes a function from rows to int64 multiplicities. R(r) is the multiplicity of row r in R.
Columns are known by position; names live in schemas only and have no meaning for equality of plans.
Nodes are frozen and compare by value, so relations are equal wherever they were built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import BOOLEAN
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.compared_once import Remembering, compared_once
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.scalar import Scalar, Value
from ivm.sql.ir.unnest import elements
from ivm.sql.ir.window_function import WindowFunction


def fields(names: Iterable[str], parts: Iterable[Typed]) -> Schema:
    """A field for each part, called by its name."""
    return tuple(Field(name, part.type, part.nullable) for name, part in zip(names, parts, strict=True))


@compared_once
class Get(Remembering):
    """The collection called `name`, a base table or a maintained view. Memory: none of its own.

    `references`: foreign keys that are enforced. `append_only`: rows come, but never go. `static`: neither.
    `differs`: it is a difference, of which rows may have negative multiplicities. `holding`: what is true of all rows.
    `refers`: foreign keys whether enforced or not, also those of the tables that they refer to, and as references to
    itself what is declared UNIQUE; it is for estimates, and two that differ in nothing else are equal.
    """

    name: str
    schema: Schema
    keys: tuple[tuple[int, ...], ...] = ()  # unique keys, as column positions
    is_table: bool = True
    references: tuple[Reference, ...] = ()
    append_only: bool = False
    static: bool = False
    differs: bool = False
    holding: tuple[Scalar, ...] = ()
    refers: tuple[Reference, ...] = field(default=(), compare=False)


@compared_once
class Constant(Remembering):
    """The given rows, each once per occurrence. Memory: the rows."""

    rows: tuple[tuple[Value, ...], ...]
    schema: Schema


@compared_once
class RecursiveGet(Remembering):
    """A leaf within a `LetRec`: what its binding called `name` holds. Memory: none of its own.

    Of bindings before the one that reads it, as of this round; of itself and those behind, as of the round before, and
    nothing in the first. Nothing else is known of it: no keys, no references, no facts.
    """

    name: str
    schema: Schema


@compared_once
class Map(Remembering):
    """R'(r, f1(r), ..) = R(r): appends computed columns, named by `names`. Memory: none."""

    input: Relation
    scalars: tuple[Scalar, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, then one for each scalar."""
        return self.input.schema + fields(self.names, self.scalars)


@dataclass(frozen=True)
class _SameColumns(Remembering):
    """A node that has the columns of its input."""

    input: Relation

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


@compared_once
class Filter(_SameColumns):
    """R'(r) = R(r) where every predicate is true (not NULL), else 0. Memory: none."""

    predicates: tuple[Scalar, ...]


@compared_once
class Project(Remembering):
    """R'(s) = sum of R(r) over rows r whose `columns` are s: keeps, drops, reorders, repeats. Memory: none."""

    input: Relation
    columns: tuple[int, ...]
    names: tuple[str, ...] = ()  # new names; empty keeps the input's

    @cached_property
    def schema(self) -> Schema:
        """The chosen fields, renamed if names are given."""
        chosen = tuple(self.input.schema[c] for c in self.columns)
        return fields(self.names, chosen) if self.names else chosen


@compared_once
class Unnest(Remembering):
    """R'(r, e1, .., en) = R(r) for each place in the longest list of r: see `ivm.sql.ir.unnest`. Memory: none."""

    input: Relation
    lists: tuple[Scalar, ...]
    names: tuple[str, ...]
    numbered: bool = False
    optional: bool = False

    @cached_property
    def added(self) -> Schema:
        """A field for each list, and one for the place."""
        return elements(self.lists, self.names, self.numbered, self.optional)

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, then those that are added."""
        return self.input.schema + self.added


@compared_once
class Join(Remembering):
    """R'(r1, .., rn) = R1(r1) * .. * Rn(rn) where in each class all columns are equal and none is NULL, else 0.

    `equivalences`: classes of positions in the concatenated row; each holds at least two columns of equal type.
    An inner join; no classes means a cross product. Memory: decided by the plan, at most every prefix of the join.
    """

    inputs: tuple[Relation, ...]
    equivalences: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def schema(self) -> Schema:
        """All fields of all inputs, in order."""
        return tuple(field for relation in self.inputs for field in relation.schema)


@compared_once
class Reduce(Remembering):
    """R'(k, a) = 1 for each group k with a non-zero multiplicity in R, a its aggregates; else 0.

    With no keys, there is exactly one group, also over an empty input (its count is 0 and its other aggregates NULL).
    Memory: the groups with their accumulators; min, max and the ordered aggregates keep the values of each group.
    Each text and list that string_agg and list have ever made stays in the text dictionary.
    """

    input: Relation
    keys: tuple[Scalar, ...]
    aggregates: tuple[Aggregate, ...]
    names: tuple[str, ...]  # keys, then aggregates

    @cached_property
    def schema(self) -> Schema:
        """A field for each key, then for each aggregate."""
        return fields(self.names, (*self.keys, *self.aggregates))


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY term over a column."""

    column: int
    descending: bool = False
    nulls_first: bool = False


@compared_once
class TopK(_SameColumns):
    """The first `limit` rows after `offset`, per value of `group`, by `order`, then by all columns ascending.

    Rows count with their multiplicity. Ties that `order` leaves are broken by all columns of the row, ascending, NULLs
    last, so that the result is a function of the input. `limit` None means all rows after the offset. With `ties`,
    for which there is a limit and no offset, R'(r) = R(r) if the rows of r's group that `order` puts before r are fewer
    than `limit`, else 0: rank() <= limit. Memory: the input.
    """

    group: tuple[int, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int = 0
    ties: bool = False


MOST_TERMS = 64
"""Unions in unions are made one up to this number of inputs: one that many read would stand in each of them."""


@compared_once
class Union(Remembering):
    """R'(r) = R1(r) + .. + Rn(r) (UNION ALL). Memory: none."""

    inputs: tuple[Relation, ...]

    @cached_property
    def schema(self) -> Schema:
        """The first input's names; nullable where any input is."""
        first, *rest = (relation.schema for relation in self.inputs)
        return tuple(
            Field(f.name, f.type, f.nullable or any(other[i].nullable for other in rest)) for i, f in enumerate(first)
        )


@compared_once
class Negate(_SameColumns):
    """R'(r) = -R(r). Memory: none."""


@compared_once
class Threshold(_SameColumns):
    """R'(r) = max(R(r), 0). Memory: proportional to the distinct rows of the input."""


Typed = Scalar | Field | Aggregate | WindowFunction
"""What has a type, and says whether it may be NULL."""


@compared_once
class Window(Remembering):
    """R'(r, w1, ..) : each row of R once for each copy, with the values of the window functions.

    Rows fall into partitions by the columns `partition` (NULL equals NULL) and stand in them by `order`; ties are
    broken by all columns of the row, ascending, NULLs last, as in TopK, so that the result is a function of the input.
    Copies of one row stand next to each other. Memory: the input in order, with the functions' values.
    """

    input: Relation
    partition: tuple[int, ...]
    order: tuple[Order, ...]
    functions: tuple[WindowFunction, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, then one for each function."""
        return self.input.schema + fields(self.names, self.functions)


@compared_once
class Asof(Remembering):
    """R'(l, r) = L(l) for the row r of the right that is nearest to the row l of the left.

    Of the rows that agree with l in `keys`, pairs of columns of left and right (NULL equals NULL), and to whose time
    that of l is `function` (ge, gt, le or lt), it is the one whose time is nearest; of several of them the first by all
    columns, ascending, NULLs last. `times`: the columns of left and right, of one type, as are those of a pair. An l
    that has none, as one whose time is NULL, counts with NULLs for r if it is `outer`, else not at all. The right must
    have no negative multiplicities. Memory: both inputs in order.
    """

    left: Relation
    right: Relation
    keys: tuple[tuple[int, int], ...]
    times: tuple[int, int]
    function: str
    outer: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The left fields, then the right ones, nullable where the row may be missing."""
        right = self.right.schema
        return self.left.schema + (tuple(Field(f.name, f.type, True) for f in right) if self.outer else right)


@compared_once
class Apply(Remembering):
    """For each row l of `left` the rows r of `right` that satisfy all `predicates` over (l, r).

    `right` may itself depend on l: its expressions read l as `Outer(binding, ..)`. Stands only between binding and
    decorrelation (`ivm.sql.decorrelate`), which writes it in the other nodes. By `kind` the result is

    - ``inner``: (l, r) for each such r;
    - ``left``: the same, and (l, NULL, ..) once for an l that has none;
    - ``full``: the same, and (NULL, .., r) for each r that no l has; `right` must not depend on l;
    - ``semi``: l if there is such an r;
    - ``anti``: l if there is none;
    - ``mark``: (l, m), m a BOOLEAN that is never NULL: whether there is such an r;
    - ``single``: as ``left``, but a second r for one copy of l raises NumericError.
    """

    kind: str
    left: Relation
    right: Relation
    predicates: tuple[Scalar, ...] = ()
    binding: int = 0

    @cached_property
    def schema(self) -> Schema:
        """The left fields; then `mark`, or the right fields, nullable where a side may be missing."""
        left, right = self.left.schema, self.right.schema
        if self.kind in ("semi", "anti"):
            return left
        if self.kind == "mark":
            return (*left, Field("mark", BOOLEAN, False))
        if self.kind in ("left", "full", "single"):
            right = tuple(Field(f.name, f.type, True) for f in right)
        if self.kind == "full":
            left = tuple(Field(f.name, f.type, True) for f in left)
        return left + right


@dataclass(frozen=True, slots=True)
class Binding:
    """A name of a loop, and the relation that it is in each round, in which the names of the loop may stand.

    `written`: what people call it; "" if they have not written it.
    """

    name: str
    schema: Schema
    relation: Relation
    written: str = ""


@compared_once
class LetRec(Remembering):
    """R' = the last R_result of R_1, .., R_n, all empty at first: in each round, in order, R_i := F_i(R_1, .., R_n).

    F_i is what `bindings[i].relation` denotes where a RecursiveGet denotes what the binding of its name holds by then.
    The last round is the first that changes nothing, or number `limit`, which is 1 at least; with `fails_at_limit` it
    is an error if that one still changes something. LetRecs that differ in `result` alone are one loop, read in several
    places. The names of a loop do not stand in the loops within its bindings. Memory: what bindings keep of each round.
    """

    bindings: tuple[Binding, ...]
    result: int
    limit: int | None = None
    fails_at_limit: bool = False

    @property
    def schema(self) -> Schema:
        """The fields of the binding."""
        return self.bindings[self.result].schema

    @property
    def last(self) -> Relation:
        """What its rows are made by, of what the names hold in the last round."""
        return self.bindings[self.result].relation


_Leaf = Get | Constant | RecursiveGet
_OfOne = Map | Filter | Project | Unnest | Reduce | TopK | Window | Negate | Threshold
_OfTwo = Asof | Apply
Relation = _Leaf | _OfOne | _OfTwo | Join | Union | LetRec


_LEAVES = (Get, Constant, RecursiveGet)
_WIDE = (Join, Union)
_SIDED = (Asof, Apply)


def inputs_of(relation: Relation) -> tuple[Relation, ...]:
    """The relations that this node reads directly."""
    # Asked more often than anything else: a tuple of classes is not built anew each time, as a union of them is.
    if isinstance(relation, _LEAVES):
        return ()
    if isinstance(relation, _WIDE):
        return relation.inputs
    if isinstance(relation, _SIDED):
        return (relation.left, relation.right)
    if isinstance(relation, LetRec):
        return tuple(binding.relation for binding in relation.bindings)
    return (relation.input,)
