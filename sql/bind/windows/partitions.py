"""Aggregates of whole partitions, which are those of groups: each row is given what its group has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ivm.sql.bind.expressions.binder import Aggregates
from ivm.sql.bind.windows.framed import FramedAggregate
from ivm.sql.decorrelate.expand_joins import Pair, joined
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.rebuild import column, row
from ivm.sql.ir.relation import Project, Reduce, Relation
from ivm.sql.ir.scalar import Column, Scalar, rewrite
from ivm.sql.ir.window_function import WindowFunction

OF_PARTITION = "of partition"
"""What an aggregate has in its `meta` that is one of a whole partition."""


@dataclass(frozen=True, slots=True)
class Composed:
    """What stands before OVER and is no single function: an expression over functions, such as avg() of moments.

    Where the frame is the whole partition, they are aggregates of its rows; where no operator keeps the frame, of that.
    In `value` function i is column i.
    """

    value: Scalar
    functions: Sequence[WindowFunction | Aggregate | FramedAggregate]
    names: tuple[str, ...]

    def over(self, columns: Sequence[Scalar]) -> Scalar:
        """The expression over what stands for the functions."""
        return rewrite(self.value, lambda s: columns[s.index] if isinstance(s, Column) else s)


def of_partition(call: exp.Expr, value: Scalar, aggregates: Aggregates) -> Composed:
    """What was bound of a call, which is marked for DuckDB's text."""
    call.meta[OF_PARTITION] = True
    return Composed(value, tuple(aggregates.found), tuple(aggregates.names))


def with_aggregates(
    relation: Relation, partition: Sequence[int], aggregates: Sequence[Aggregate], names: Sequence[str]
) -> Relation:
    """The rows, each with the aggregates of those that agree with it in the columns of `partition`, NULLs too.

    Cost: a change of a row's group is one of each of its rows. Memory: that of the groups, and of the rows by their
    keys.
    """
    columns = row(relation)
    keys = [columns[place] for place in partition]
    named = (*(relation.schema[place].name for place in partition), *names)
    groups = Reduce(relation, tuple(keys), tuple(aggregates), named)
    pairs = [Pair(key, column(groups, place), null_safe=key.nullable) for place, key in enumerate(keys)]
    both = joined(relation, groups, pairs)
    width = len(columns)
    return Project(both, (*range(width), *range(width + len(keys), len(both.schema))))
