"""Relational nodes over bags with signed multiplicities.

A relation denotes a function from rows to int64 multiplicities. R(r) is the multiplicity of row r in R.
Columns are known by position; names live in schemas only and have no meaning for equality of plans.
Nodes are frozen and compare by value, so equal relations are equal whoever built them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from catalog.schema import Field, Schema
from catalog.types import SqlType
from sql.ir.scalar import Scalar, Value


@dataclass(frozen=True)
class Get:
    """The collection called `name`, a base table or a maintained view. Memory: none of its own."""

    name: str
    schema: Schema
    keys: tuple[tuple[int, ...], ...] = ()  # unique keys, as column positions
    is_table: bool = True


@dataclass(frozen=True)
class Constant:
    """The given rows, each once per occurrence. Memory: the rows."""

    rows: tuple[tuple[Value, ...], ...]
    schema: Schema


@dataclass(frozen=True)
class Map:
    """R'(r, f1(r), ..) = R(r): appends computed columns, named by `names`. Memory: none."""

    input: Relation
    scalars: tuple[Scalar, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, then one for each scalar."""
        added = tuple(Field(n, s.type, s.nullable) for n, s in zip(self.names, self.scalars, strict=True))
        return self.input.schema + added


@dataclass(frozen=True)
class Filter:
    """R'(r) = R(r) where every predicate is true (not NULL), else 0. Memory: none."""

    input: Relation
    predicates: tuple[Scalar, ...]

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


@dataclass(frozen=True)
class Project:
    """R'(s) = sum of R(r) over rows r whose `columns` are s: keeps, drops, reorders, repeats. Memory: none."""

    input: Relation
    columns: tuple[int, ...]
    names: tuple[str, ...] = ()  # new names; empty keeps the input's

    @cached_property
    def schema(self) -> Schema:
        """The chosen fields, renamed if names are given."""
        fields = [self.input.schema[c] for c in self.columns]
        if not self.names:
            return tuple(fields)
        return tuple(Field(n, f.type, f.nullable) for n, f in zip(self.names, fields, strict=True))


@dataclass(frozen=True)
class Join:
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


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: `function` over `arg` (None for count_star).

    Functions: count_star, count, sum, avg, min, max, stddev_samp, stddev_pop, var_samp, var_pop. NULLs are skipped.
    `type` is DuckDB's result type: count BIGINT; sum of integers HUGEINT, of DECIMAL(p,s) DECIMAL(38,s), of DOUBLE
    DOUBLE; avg and the deviations DOUBLE (avg of DECIMAL is the exact sum over the count, divided at the end).
    stddev/var take a DOUBLE argument (the binder casts).
    """

    function: str
    arg: Scalar | None
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True)
class Reduce:
    """R'(k, a) = 1 for each group k with a non-zero multiplicity in R, a its aggregates; else 0.

    With no keys, there is exactly one group, also over an empty input (its count is 0 and its other aggregates NULL).
    Memory: the groups with their accumulators; min and max keep the distinct values of each group.
    """

    input: Relation
    keys: tuple[Scalar, ...]
    aggregates: tuple[Aggregate, ...]
    names: tuple[str, ...]  # keys, then aggregates

    @cached_property
    def schema(self) -> Schema:
        """A field for each key, then for each aggregate."""
        parts = (*self.keys, *self.aggregates)
        return tuple(Field(n, p.type, p.nullable) for n, p in zip(self.names, parts, strict=True))


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY term over a column."""

    column: int
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class TopK:
    """The first `limit` rows after `offset`, per value of `group`, by `order`, then by all columns ascending.

    Rows count with their multiplicity. Ties that `order` leaves are broken by all columns of the row, ascending, NULLs
    last, so that the result is a function of the input. `limit` None means all rows after the offset. Memory: the
    input.
    """

    input: Relation
    group: tuple[int, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int = 0

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


@dataclass(frozen=True)
class Union:
    """R'(r) = R1(r) + .. + Rn(r) (UNION ALL). Memory: none."""

    inputs: tuple[Relation, ...]

    @cached_property
    def schema(self) -> Schema:
        """The first input's names; nullable where any input is."""
        first, *rest = (relation.schema for relation in self.inputs)
        return tuple(
            Field(f.name, f.type, f.nullable or any(other[i].nullable for other in rest)) for i, f in enumerate(first)
        )


@dataclass(frozen=True)
class Negate:
    """R'(r) = -R(r). Memory: none."""

    input: Relation

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


@dataclass(frozen=True)
class Threshold:
    """R'(r) = max(R(r), 0). Memory: proportional to the distinct rows of the input."""

    input: Relation

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


Relation = Get | Constant | Map | Filter | Project | Join | Reduce | TopK | Union | Negate | Threshold


def inputs_of(relation: Relation) -> tuple[Relation, ...]:
    """The relations that this node reads directly."""
    if isinstance(relation, Get | Constant):
        return ()
    if isinstance(relation, Join | Union):
        return relation.inputs
    return (relation.input,)
