"""UNION, INTERSECT and EXCEPT, with and without ALL, by position; UNION BY NAME too."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.names import by_key, key
from ivm.catalog.names import twice as standing_twice
from ivm.catalog.types import BLOB, JSON, VARCHAR, SqlType
from ivm.sql.bind.clauses.columns import cast_columns, is_nothing
from ivm.sql.bind.clauses.order import distinct, undone
from ivm.sql.bind.clauses.with_clause import bind_with
from ivm.sql.bind.context import BindContext, Block, Ctes
from ivm.sql.ir.conditions import comparison, negation
from ivm.sql.ir.measures import has_measure, measures_of
from ivm.sql.ir.rebuild import column
from ivm.sql.ir.relation import (
    MOST_TERMS,
    Apply,
    Map,
    Negate,
    Project,
    Relation,
    Threshold,
    Union,
)
from ivm.sql.ir.scalar import Column, Literal
from ivm.sql.tree import ENDINGS
from ivm.sql.types.unify import common_type


def bind_set_operation(context: BindContext, node: exp.SetOperation, ctes: Ctes) -> Block:
    """The block of a set operation without ORDER BY and LIMIT of its own.

    Names are those of the first side; each column has the common type of both sides, as DuckDB has it: text if one
    side is text. With ALL, rows count as often as they stand: A + B, max(A - B, 0), A - max(A - B, 0); without, A is
    made distinct first, and a sum afterwards. Two sides that differ in the number of columns are a BindError.
    """
    chain: list[exp.SetOperation] = []
    left: exp.Expr = node
    # A chain nests to the left, and a loop bears any length.
    while isinstance(left, exp.SetOperation) and (left is node or not any(left.args.get(arg) for arg in ENDINGS)):
        ctes = bind_with(context, left, ctes)
        chain.append(left)
        left = left.this
    relation = context.query(context, left, ctes).relation
    for step in reversed(chain):
        relation = _combined(context, step, relation, context.query(context, step.expression, ctes).relation)
    return Block(relation)


def _combined(context: BindContext, node: exp.SetOperation, left: Relation, right: Relation) -> Relation:
    each_once = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union) and each_once:
        # The sum is made distinct, so that its sides need not be.
        left, right = undone(left), undone(right)
    if node.args.get("by_name"):
        if not isinstance(node, exp.Union):
            context.refuse(node.expression, f"{node.key.upper()} BY NAME is not supported; give both sides one order")
        left, right = _by_name(context, node, left, right)
    left, right = _aligned(context, node, left, right)
    if isinstance(node, exp.Union):
        terms = tuple(t for side in (left, right) for t in (side.inputs if isinstance(side, Union) else (side,)))
        both = Union(terms if len(terms) <= MOST_TERMS else (left, right))
        return distinct(both) if each_once else both
    if any(has_measure(field.type) for field in left.schema):
        return _by_measure(context, node, left, right, each_once=each_once)
    if each_once:
        left = distinct(undone(left))
    rest = Threshold(Union((left, Negate(right))))
    return rest if isinstance(node, exp.Except) else Union((left, Negate(rest)))


def _by_measure(
    context: BindContext, node: exp.SetOperation, left: Relation, right: Relation, *, each_once: bool
) -> Relation:
    """The rows of the left that the right has, or has not, where values are equal that are of one measure."""
    if not each_once:
        what = f"{_word(node)} ALL of INTERVALs, or texts with a collation, is not supported"
        why = "since different ones may be equal; write it without ALL, or epoch_us(..) and lower(..) of them"
        context.refuse(node.expression, f"{what}, {why}")
    left, right = distinct(undone(left)), distinct(undone(right))
    width = len(left.schema)
    pairs = [(column(left, i), Column(width + i, f.type, f.nullable)) for i, f in enumerate(right.schema)]
    same = tuple(negation(comparison("is_distinct", *measures_of(pair, pair[0].type))) for pair in pairs)
    return Apply("anti" if isinstance(node, exp.Except) else "semi", left, right, same)


def _aligned(
    context: BindContext, node: exp.SetOperation, left: Relation, right: Relation
) -> tuple[Relation, Relation]:
    """Both sides with columns of the same types."""
    widths = len(left.schema), len(right.schema)
    if widths[0] != widths[1]:
        what = f"{_word(node)} needs the same number of columns on both sides, not {widths[0]} and {widths[1]}"
        context.fail(node.expression, f"{what}; list the columns of each SELECT")
    types = [_common(context, node, left, right, i) for i in range(widths[0])]
    return cast_columns(left, types), cast_columns(right, types)


def _common(context: BindContext, node: exp.SetOperation, left: Relation, right: Relation, column: int) -> SqlType:
    one, other = left.schema[column], right.schema[column]
    if is_nothing(left, column):
        return other.type
    if is_nothing(right, column):
        return one.type
    texts = VARCHAR in (one.type, other.type) and one.type != other.type and not {BLOB, JSON} & {one.type, other.type}
    common = VARCHAR if texts else common_type(one.type, other.type)
    if common is None:
        what = f"column {column + 1} of {_word(node)} is {one.type} on one side and {other.type} on the other"
        context.mismatch(node.expression, f"{what}; cast one of them")
    return common


def _by_name(
    context: BindContext, node: exp.SetOperation, left: Relation, right: Relation
) -> tuple[Relation, Relation]:
    """Both sides with the columns of the left and those that only the right has, NULL where a side has it not."""
    names = [[field.name for field in side.schema] for side in (left, right)]
    for side in names:
        twice = standing_twice(side)
        if twice is not None:
            context.fail(node.expression, f"UNION BY NAME: the name {twice!r} stands twice; give one of them an alias")
    wanted = list(by_key((name, name) for side in names for name in side).values())
    types = by_key((field.name, field.type) for side in (left, right) for field in side.schema)
    return _named(left, wanted, types), _named(right, wanted, types)


def _named(relation: Relation, wanted: Sequence[str], types: dict[str, SqlType]) -> Relation:
    own = [key(field.name) for field in relation.schema]
    missing = [name for name in wanted if key(name) not in own]
    if missing:
        relation = Map(relation, tuple(Literal(None, types[key(name)]) for name in missing), tuple(missing))
    places = {name: i for i, name in enumerate((*own, *map(key, missing)))}
    columns = tuple(places[key(name)] for name in wanted)
    return relation if columns == tuple(range(len(places))) else Project(relation, columns)


def _word(node: exp.SetOperation) -> str:
    return type(node).__name__.upper()
