"""LIMIT in percent, and LIMIT and OFFSET by subqueries: the rows up to a number that itself changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ivm.catalog.types import BIGINT, DOUBLE, NULL, UBIGINT, VARCHAR
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.expressions.nested import Subqueries, placed
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.scope import Scope
from ivm.sql.bind.windows.partitions import with_aggregates
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.conditions import coalesced, comparison, junction
from ivm.sql.ir.rebuild import outers, relation_scalars
from ivm.sql.ir.relation import Filter, Order, Project, Relation, Window
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.sql.ir.window_function import WindowFunction

Cut = Callable[[Relation, Sequence[Order]], Relation]
_ZERO = Literal(0, BIGINT)


@dataclass(frozen=True, slots=True)
class Bounds:
    """LIMIT, of which `percent` says that it is a share of the rows, and OFFSET, as they are written; None: there is
    none.
    """

    limit: exp.Expr | None
    offset: exp.Expr | None
    percent: float | None


def cut_by(context: BindContext, ctes: Ctes, bounds: Bounds) -> Cut:
    """What leaves of rows in an order those that the bounds let through.

    Cost: rows are numbered, so a change moves all behind it, as one of row_number() does.
    """

    def cut(relation: Relation, order: Sequence[Order]) -> Relation:
        width = len(relation.schema)
        number = WindowFunction("row_number", (), BIGINT, False)
        counted: Relation = Window(relation, (), tuple(order), (number,), ("row number",))
        if bounds.percent is not None:
            rows = Aggregate("count_star", None, BIGINT, nullable=False)
            counted = with_aggregates(counted, (), (rows,), ("rows",))
        subqueries = Subqueries(context, ctes)
        binder = Binder(context.source, Scope(), HANDLERS, "LIMIT", outer=tuple(context.outer_rows), below=subqueries)
        test = _test(binder, bounds, Column(width, BIGINT, False), Column(width + 1, BIGINT, False))
        found, resolve = placed(counted, subqueries.found, (test,))
        if any(outers(relation_scalars(found), row.binding) for row in context.outer_rows):
            what = "LIMIT in percent or by a subquery is not supported, nor is it by DuckDB, where columns of the query"
            context.refuse(bounds.limit or bounds.offset, f"{what} around are read; write a number")
        return Project(Filter(found, (resolve(test),)), tuple(range(width)))

    return cut


def _test(binder: Binder, bounds: Bounds, number: Column, rows: Column) -> Scalar:
    """Whether the row of a number is let through."""
    skip: Scalar = _ZERO
    if bounds.offset is not None:
        skip = coalesced(_count(binder, bounds.offset), _ZERO)
    tests = [comparison("gt", number, skip)]
    most = None
    if bounds.percent is not None:
        most = _share(binder, bounds.percent, rows)
    elif bounds.limit is not None:
        most = _count(binder, bounds.limit)
    if most is not None:
        place = Call("sub", (number, skip), BIGINT, False)
        tests.append(coalesced(comparison("le", place, most), Literal(True, tests[0].type)))
    return junction("and", tests)


def _count(binder: Binder, node: exp.Expr) -> Scalar:
    """A number of rows; what is negative, or no number, fails when it comes."""
    found = binder.bind(node)
    if not (found.type.is_numeric or found.type in (VARCHAR, NULL)):
        binder.mismatch(node, f"LIMIT and OFFSET are numbers of rows, not of type {found.type}; write the number")
    operand = Operand(node, binder.cast(found, UBIGINT))
    return binder.cast(operand, BIGINT)


def _share(binder: Binder, percent: float, rows: Column) -> Scalar:
    """So many of the rows, rounded down, computed as DuckDB does."""
    share, of = exp.Null(), exp.Null()
    binder.known = {id(share): Operand(share, Literal(percent / 100, DOUBLE)), id(of): Operand(of, rows)}
    node = exp.Floor(this=exp.Mul(this=share, expression=of))
    return binder.cast(Operand(node, binder.bind(node).scalar), BIGINT)
