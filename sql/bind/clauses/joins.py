"""The joins of a FROM clause: every kind, with ON, USING or NATURAL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ivm.catalog.names import by_key, key, written
from ivm.sql.bind.clauses.asof import KINDS, join_asof
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.comparisons import common, same_type, type_of
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.expressions.nested import Subqueries, outer_join, satisfying, turned
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.expressions.subqueries import condition
from ivm.sql.bind.names.scope import Scope, ScopeColumn, join
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.relation import Apply, Constant, Filter, Join, Map, Project, Relation
from ivm.sql.ir.scalar import Call, Column, Scalar, remap


@dataclass(frozen=True, slots=True)
class From:
    """The relations of a FROM clause, to be joined under `conditions`; the scope is that of their concatenated rows."""

    inputs: tuple[Relation, ...]
    scope: Scope
    conditions: tuple[Scalar, ...] = ()

    def relation(self) -> Relation:
        """The joined rows, with the columns of the scope."""
        joined = self.inputs[0] if len(self.inputs) == 1 else Join(self.inputs)
        return Filter(joined, self.conditions) if self.conditions else joined


NOTHING = From((Constant(((),), ()),), Scope())
"""No FROM at all: one row without columns."""

Pair = tuple[ScopeColumn, ScopeColumn]
"""Two columns, left and right, that USING makes one."""


def cross(context: BindContext, left: From, right: From, node: exp.Expr, binding: int = 0) -> From:
    """All pairs of rows; the two may not name a table alike. The right side may read the left row by a `binding`."""
    for table in right.scope.tables:
        if table and left.scope.has(table):
            context.fail(node, f"table {table!r} stands twice in FROM; give one of them an alias")
    if binding:
        joined = Apply("inner", left.relation(), right.relation(), (), binding)
        return From((joined,), join(left.scope, right.scope))
    conditions = (*left.conditions, *(remap(c, left.scope.width.__add__) for c in right.conditions))
    return From(left.inputs + right.inputs, join(left.scope, right.scope), conditions)


def is_comma(node: exp.Join) -> bool:
    """Whether the join is a comma (or a JOIN without any condition, which means the same)."""
    args = ("side", "kind", "method", "on", "using")
    return not any(node.args.get(arg) for arg in args)


def bind_join(context: BindContext, left: From, right: From, node: exp.Join, ctes: Ctes, binding: int = 0) -> From:
    """The rows of `left` and `right` joined as `node` says.

    An inner join adds to the inputs and conditions; any other makes one input of all. Of the columns that USING and
    NATURAL join, the one that is never missing can be named alone: the left one, with RIGHT the right one, with FULL
    the first of the two that is not NULL. `binding` is the number by which the right side reads the left row, 0 if it
    does not.
    """
    kind = _kind(context, node)
    if binding and kind in ("right", "full"):
        context.fail(node, f"the right side of a {kind.upper()} JOIN cannot name columns of the left; write LEFT JOIN")
    both = cross(context, left, right, node, binding)
    subqueries = Subqueries(context, ctes)
    outer, functions = tuple(context.outer_rows), context.catalog.functions
    binder = Binder(context.source, both.scope, HANDLERS, "ON", outer=outer, below=subqueries, functions=functions)
    pairs = _using(context, node, left.scope, right.scope)
    conditions = [_equal(binder, node, pair) for pair in pairs]
    if node.method.upper() == "ASOF":
        return _asof(context, binder, node, kind, (left, right), pairs, conditions, binding)
    if node.args.get("on"):
        conditions.extend(condition(binder, node.args["on"]))
    elif not pairs and kind != "inner":
        context.refuse(node, f"{_written(node)} JOIN needs a condition; write ON or USING after it")
    if kind == "inner" and subqueries.found:
        relation = satisfying(both.relation(), subqueries.found, conditions)
        return From((relation,), _merged(both.scope, pairs))
    if kind == "inner":
        return From(both.inputs, _merged(both.scope, pairs), both.conditions + tuple(conditions))
    if kind in ("semi", "anti"):
        joined = _applied(context, kind, (left.relation(), right.relation()), subqueries, conditions, binding)
        return From((joined,), left.scope)
    return _outer(context, binder, kind, (left, right), pairs, conditions, binding)


def _asof(
    context: BindContext,
    binder: Binder,
    node: exp.Join,
    kind: str,
    sides: tuple[From, From],
    pairs: Sequence[Pair],
    conditions: Sequence[Scalar],
    binding: int,
) -> From:
    """The rows of an ASOF JOIN, of which USING makes the last column an inequality."""
    left, right = sides
    if kind not in KINDS:
        what = f"ASOF {kind.upper()} JOIN is not maintained"
        context.refuse(node, f"{what}; write ASOF LEFT JOIN, and add the other rows with UNION ALL")
    if binding or len(right.scope.tables) != 1:
        context.refuse(node, "the right side of an ASOF JOIN is one table or subquery; put a join in a subquery")
    if not pairs and node.args.get("on") is None:
        context.fail(node, "an ASOF JOIN needs a condition; write ON or USING after it")
    joined = join_asof(context, binder, node, kind, (left.relation(), right.relation()), conditions)
    if kind in ("semi", "anti"):
        return From((joined,), left.scope)
    return From((joined,), _merged(binder.scope.typed(joined.schema, right.scope.tables), pairs))


def _applied(
    context: BindContext,
    kind: str,
    sides: tuple[Relation, Relation],
    subqueries: Subqueries,
    conditions: Sequence[Scalar],
    binding: int = 0,
) -> Relation:
    if subqueries.found:
        return outer_join(context, kind, sides, subqueries.found, conditions, binding)
    return Apply(kind, *sides, tuple(conditions), binding)


_INSTEAD = {
    "POSITIONAL": "rows of a table have no position; number both sides by row_number() OVER (ORDER BY ..) in "
    "subqueries and join on that, or run it as a SELECT",
}


def _kind(context: BindContext, node: exp.Join) -> str:
    side, kind, method = node.side.upper(), node.kind.upper(), node.method.upper()
    if method not in ("", "NATURAL", "ASOF"):
        instead = _INSTEAD.get(method, "write JOIN ... ON")
        context.refuse(node, f"{method} JOIN is not supported; {instead}")
    if kind in ("SEMI", "ANTI") and side in ("", "LEFT"):
        return kind.lower()
    if kind not in ("", "INNER", "CROSS", "OUTER") or side not in ("", "LEFT", "RIGHT", "FULL"):
        context.refuse(node, f"{_written(node)} JOIN is not supported; write JOIN ... ON")
    if kind == "OUTER" and not side:
        return "full"
    return side.lower() or "inner"


def _written(node: exp.Join) -> str:
    return " ".join(filter(None, (node.method, node.side, node.kind))).upper()


def _using(context: BindContext, node: exp.Join, left: Scope, right: Scope) -> tuple[Pair, ...]:
    """The pairs of columns that USING or NATURAL makes equal, by their places in the joined row."""
    natural = node.method.upper() == "NATURAL"
    if natural:
        shared = [c.name for c in right.visible()]
        names = [c.name for c in left.visible() if written(c.name, shared)]
        if not names:
            context.fail(node, "NATURAL JOIN finds no column of the same name on both sides; write JOIN ... ON")
    else:
        names = [item.name for item in node.args.get("using") or ()]
    moved = join(left, right).columns[left.width :]
    return tuple(
        (_side(context, node, name, "left", left.visible()), _side(context, node, name, "right", moved))
        for name in by_key((name, name) for name in names).values()
    )


def _side(context: BindContext, node: exp.Join, name: str, side: str, columns: Sequence[ScopeColumn]) -> ScopeColumn:
    found = [c for c in columns if key(c.name) == key(name) and not c.merged]
    if len(found) != 1:
        what = "is ambiguous" if found else "does not exist"
        context.fail(node, f"USING ({name}): the column {what} on the {side} of the join; write JOIN ... ON")
    return found[0]


def _operands(pair: Pair) -> list[Operand]:
    return [Operand(exp.column(pair[0].name), side.column) for side in pair]


def _equal(binder: Binder, node: exp.Expr, pair: Pair) -> Scalar:
    one, other = same_type(binder, node, _operands(pair))
    return comparison("eq", one, other)


def _outer(
    context: BindContext,
    binder: Binder,
    kind: str,
    sides: tuple[From, From],
    pairs: Sequence[Pair],
    conditions: Sequence[Scalar],
    binding: int,
) -> From:
    left, right = (side.relation() for side in sides)
    subqueries = binder.below
    assert subqueries is not None, "ON may hold subqueries"
    width, total = len(left.schema), binder.scope.width
    if kind == "right":
        shift = total - width
        found, swapped = turned(subqueries.found, conditions, width, total)
        joined = _applied(context, "left", (right, left), replace(subqueries, found=found), swapped)
        joined = Project(joined, (*range(shift, total), *range(shift)))
        pairs = [(of_right, of_left) for of_left, of_right in pairs]
    else:
        joined = _applied(context, kind, (left, right), subqueries, conditions, binding)
    padded = {"left": sides[1:], "right": sides[:1]}.get(kind, sides)
    scope = binder.scope.typed(joined.schema, (table for side in padded for table in side.scope.tables))
    if kind == "full" and pairs:
        return _coalesced(binder, joined, scope, pairs)
    return From((joined,), _merged(scope, pairs))


def _merged(scope: Scope, pairs: Sequence[Pair]) -> Scope:
    """The scope in which the first column of each pair stands for both."""
    for kept, gone in pairs:
        scope = scope.merge(gone.column.index, kept.column.index)
    return scope


def _coalesced(binder: Binder, joined: Relation, scope: Scope, pairs: Sequence[Pair]) -> From:
    """The joined rows with a column at the end for each pair, which takes the place of both."""
    scalars: list[Scalar] = []
    for left, right in pairs:
        pair = scope.at(left.column.index), scope.at(right.column.index)
        typed = common(binder, exp.column(left.name), _operands(pair))
        scalars.append(Call("coalesce", typed, type_of(typed), True))
        column = Column(scope.width, type_of(typed), True)
        scope = scope.unite(left.column.index, right.column.index, column)
    names = tuple(left.name for left, _ in pairs)
    return From((Map(joined, tuple(scalars), names),), scope)
