"""WITH RECURSIVE, as DuckDB has it: a loop whose rounds see what the round before has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.names import key
from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import INTERVAL, VARCHAR, Kind, SqlType
from ivm.sql.bind.clauses.columns import cast_columns, is_nothing
from ivm.sql.bind.clauses.from_clause import renamed
from ivm.sql.bind.clauses.order import distinct, undone
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.loops_within import brought_out
from ivm.sql.bind.measures import by_measure
from ivm.sql.bind.working_table import working_table
from ivm.sql.decorrelate.decorrelate import decorrelate
from ivm.sql.ir.linear import Degree, degree, names_read
from ivm.sql.ir.rebuild import FreeOuters
from ivm.sql.ir.relation import Binding, LetRec, RecursiveGet, Relation, Union
from ivm.sql.tree import ENDINGS, nodes_of
from ivm.sql.types.casts import castable


def recursive_union(context: BindContext, cte: exp.CTE) -> exp.Union | None:
    """The `base UNION [ALL] branch` that an expression of WITH RECURSIVE is, if its branch may read it; else None."""
    body: exp.Expr = cte.this
    while isinstance(body, exp.Subquery) and not any(body.args.get(arg) for arg in ("with_", "alias", *ENDINGS)):
        body = body.this
    if not isinstance(body, exp.Union) or body.args.get("by_name") or not _names(body.expression, cte.alias):
        return None
    for ending in ENDINGS:
        if body.args.get(ending):
            what = "ORDER BY, LIMIT and OFFSET of a recursive UNION are not supported, nor are they by DuckDB"
            context.refuse(body.args[ending], f"{what}; put parentheses around the branch that they belong to")
    return body


def _names(tree: exp.Expr, name: str) -> bool:
    tables = (node for node in nodes_of(tree) if isinstance(node, exp.Table))
    return any(key(table.name) == key(name) and not table.db for table in tables)


def bind_recursive(
    context: BindContext, cte: exp.CTE, union: exp.Union, names: Sequence[str], ctes: Ctes
) -> Relation | None:
    """The relation of `name AS (base UNION [ALL] branch)`, where the branch sees the rows that the last round added.

    Columns are those of the base, called by `names` as far as there are some; the branch is cast to their types, as
    DuckDB does. They may be NULL where the base or the branch may. None if the branch does not read the name. Loops
    within it that read its name are brought out; see `ivm.sql.bind.loops_within`.
    """
    base = context.query(context, union.this, ctes).relation
    for i, field in enumerate(base.schema):
        if is_nothing(base, i) and not _has_type(union.this, i):
            what = f"column {field.name!r} of the base of {cte.alias} is NULL, which has no type; cast it"
            context.mismatch(union.this, what)
    each_once = bool(union.args.get("distinct"))
    if each_once and any(field.type == INTERVAL for field in base.schema):
        what = f"{cte.alias} has an INTERVAL, of which different ones may be equal, in a recursive UNION"
        context.refuse(union, f"{what}; write UNION ALL, or epoch_us(..) in its place")
    base = renamed(undone(base) if each_once else base, names[: len(base.schema)])
    with context.loop([cte.alias]) as (name,):
        branch, schema = _branch(context, cte, union, name, base.schema, ctes)
    base, branch, within = _brought_out(name, base, branch)
    if name not in names_read(branch).union(*(names_read(each.relation) for each in within)):
        return None
    _refuse_unless_sums(context, cte, (base, branch), (name, *(each.name for each in within)), within, each_once)
    branch = undone(branch) if each_once else branch
    by = degree(branch, (name, *(each.name for each in within)), sets=each_once)
    if by is Degree.LINEAR or (by is Degree.AFFINE and each_once):
        sides: Relation = Union((decorrelate(by_measure(base)), decorrelate(by_measure(branch))))
        return LetRec((Binding(name, schema, distinct(sides) if each_once else sides, cte.alias), *within), 0)
    loop = working_table(
        name, schema, decorrelate(by_measure(base)), decorrelate(by_measure(branch)), each_once=each_once
    )
    first, *others = loop.bindings
    return replace(loop, bindings=(replace(first, written=cte.alias), *others))


def _brought_out(name: str, base: Relation, branch: Relation) -> tuple[Relation, Relation, tuple[Binding, ...]]:
    """Both sides of a loop without the loops within them that read its name, or names around."""
    base, of_base = brought_out(base, {name, *names_read(base), *names_read(branch)})
    taken = {each.name for each in of_base} | names_read(base) | names_read(branch) | {name}
    branch, of_branch = brought_out(branch, taken)
    return base, branch, (*of_base, *of_branch)


def _refuse_unless_sums(
    context: BindContext, cte: exp.CTE, sides: Sequence[Relation], own: Sequence[str], within: Sequence[Binding],
    each_once: bool,
) -> None:  # fmt: skip
    """Refuse loops that read each other's names where it matters in which order they run; see `loops_within`."""
    made = (*sides, *(each.relation for each in within))
    around = frozenset[str]().union(*map(names_read, made)) - set(own)
    if not within and not around:
        return
    one = "is a loop that reads the name of a loop around it" if around else "has a loop within it that reads its name"
    what, instead = f"{cte.alias} {one}", "write both in one WITH MUTUALLY RECURSIVE"
    free = FreeOuters()
    if any(free.of(each) for each in (*(sides if around else ()), *(each.relation for each in within))):
        context.refuse(cte.args["alias"], f"{what}, and columns of the query around, which is not supported; {instead}")
    if not each_once or any(degree(each, around.union(own), sets=True) is Degree.MORE for each in made):
        only = "which is supported where both are of UNION and make each row of one row of theirs"
        context.refuse(cte.args["alias"], f"{what}, {only}; {instead}")


def _has_type(query: exp.Expr, column: int) -> bool:
    """Whether a query writes a column of NULL as a cast."""
    written = query.expressions[column : column + 1] if isinstance(query, exp.Select) else []
    return any(isinstance(each.unalias(), exp.Cast) for each in written)


def _branch(
    context: BindContext, cte: exp.CTE, union: exp.Union, name: str, schema: Schema, ctes: Ctes
) -> tuple[Relation, Schema]:
    """The branch, with columns of the types and names of the base's `schema`, and what the name is said to have in it.

    It is bound again as long as more of its columns may be NULL than that says.
    """
    mark = context.mark()
    while True:
        context.forget(mark)
        reach = {**ctes, key(cte.alias): RecursiveGet(name, schema)}
        found = context.query(context, union.expression, reach).relation
        branch = aligned(context, union.expression, found, schema, f"the branch of {cte.alias}")
        wider = either(schema, branch.schema)
        if wider == schema:
            return branch, schema
        schema = wider


def either(schema: Schema, other: Schema) -> Schema:
    """The fields, NULL where either may be."""
    pairs = zip(schema, other, strict=True)
    return tuple(replace(one, nullable=one.nullable or two.nullable) for one, two in pairs)


def aligned(context: BindContext, node: exp.Expr, relation: Relation, schema: Schema, what: str) -> Relation:
    """The relation with columns of the types and names of `schema`, by whatever casts there are."""
    if len(relation.schema) != len(schema):
        context.fail(node, f"{what} has {len(relation.schema)} columns, not {len(schema)}; list them")
    types = [field.type for field in schema]
    pairs = list(zip(relation.schema, types, strict=True))
    for i, (field, type_) in enumerate(pairs):
        if not is_nothing(relation, i) and field.type != type_ and not _can_become(field, type_):
            context.mismatch(node, f"column {field.name!r} of {what} is {field.type}, which is no {type_}; cast it")
    enums = [field.type.kind is Kind.ENUM and field.type != type_ for field, type_ in pairs]
    texts = [VARCHAR if is_enum else field.type for is_enum, field in zip(enums, relation.schema, strict=True)]
    return renamed(cast_columns(cast_columns(relation, texts), types), [field.name for field in schema])


def _can_become(field: Field, type_: SqlType) -> bool:
    return castable(field.type, type_)
