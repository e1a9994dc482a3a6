"""What stands in FROM and makes rows of values: UNNEST, range(), generate_series(), json_each() and json_tree()."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.clauses.joins import NOTHING, From
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.expressions.nested import Subqueries, placed
from ivm.sql.bind.json_rows import bind_json_rows, in_columns, is_json_rows
from ivm.sql.bind.names.columns import unique_names
from ivm.sql.bind.names.scope import Scope, scope_of
from ivm.sql.bind.series import bind_series_rows, name_of
from ivm.sql.bind.unnest import bind_list
from ivm.sql.ir.relation import Constant, Project, Relation, Unnest
from ivm.sql.ir.scalar import Call, Literal, Outer, Scalar, walk

ORDINALITY = "ordinality"


def makes_rows(node: exp.Expr) -> bool:
    """Whether an item of FROM is one of these."""
    if isinstance(node, exp.Table | exp.Lateral):
        return isinstance(node.this, exp.Unnest | exp.GenerateSeries) or is_json_rows(node.this)
    return isinstance(node, exp.Unnest)


def bind_rows(context: BindContext, node: exp.Expr, ctes: Ctes) -> From:
    """The rows, under the alias; arguments may name columns of what stands to the left.

    The column of elements is called as the table is, unless the alias says more. WITH ORDINALITY counts the elements of
    each list in another one.
    """
    call = node if isinstance(node, exp.Unnest) else node.this
    refuse_unread(dict.fromkeys((node, call)), context.source)
    subqueries = Subqueries(context, ctes)
    binder = Binder(
        context.source, Scope(), HANDLERS, "a function in FROM", outer=tuple(context.outer_rows), below=subqueries
    )
    binder.functions = context.catalog.functions
    numbered = bool(node.args.get("ordinality") or call.args.get("offset"))
    function, made = _bound(binder, call)
    alias = node.args.get("alias")
    called = alias.name if alias is not None and alias.name else function
    if isinstance(made, Constant):
        made = Constant(made.rows, (replace(made.schema[0], name=called),))
        relation: Relation = _counted(made) if numbered else made
    else:
        below, resolve = placed(NOTHING.relation(), subqueries.found, (made,))
        # With ORDINALITY after LATERAL, DuckDB calls it as the function is called.
        first = function if numbered and any(isinstance(s, Outer) for s in walk(made)) else called
        names = (first, ORDINALITY)[: 1 + numbered]
        relation = _alone(Unnest(below, (resolve(made),), names, numbered))
        relation = in_columns(relation) if is_json_rows(call) else relation
    return _named(context, node, call, relation, called)


def _bound(binder: Binder, call: exp.Expr) -> tuple[str, Constant | Scalar]:
    """What the function is called, and its rows, or the list that has them as its elements."""
    if isinstance(call, exp.GenerateSeries):
        return name_of(call), bind_series_rows(binder, call)
    if is_json_rows(call):
        return bind_json_rows(binder, call)
    if len(call.expressions) != 1:
        binder.fail(call, "UNNEST in FROM takes one list; write one UNNEST for each")
    (given,) = call.expressions
    if isinstance(given.unnest(), exp.Null):
        binder.mismatch(given, "UNNEST in FROM takes a list, not NULL; write CAST(NULL AS INTEGER[])")
    return "unnest", _written(bind_list(binder, given))


def _written(list_: Scalar) -> Constant | Scalar:
    """A list of constants as the rows that it makes."""
    if not isinstance(list_, Call) or list_.function != "list_value":
        return list_
    literals = [arg for arg in list_.args if isinstance(arg, Literal)]
    if len(literals) < len(list_.args) or list_.type.element is None:
        return list_
    nullable = any(literal.value is None for literal in literals)
    rows = tuple((literal.value,) for literal in literals)
    return Constant(rows, (Field("unnest", list_.type.element, nullable),))


def _counted(made: Constant) -> Constant:
    """Rows with their numbers."""
    rows = tuple((*row, number) for number, row in enumerate(made.rows, 1))
    return Constant(rows, (*made.schema, Field(ORDINALITY, BIGINT, nullable=False)))


def _alone(made: Unnest) -> Relation:
    """The columns that are made, without those of what they are made of."""
    width = len(made.input.schema)
    return Project(made, tuple(range(width, len(made.schema)))) if width else made


def _named(context: BindContext, node: exp.Expr, call: exp.Expr, relation: Relation, called: str) -> From:
    written = _names_written(node, call)
    width = len(relation.schema)
    if len(written) > width:
        what = f"{called} has {width} column{'s' if width > 1 else ''}, but {len(written)} names are given"
        context.fail(node, f"{what}; drop some")
    names = unique_names([*written, *(field.name for field in relation.schema[len(written) :])])
    fields = (replace(field, name=name) for field, name in zip(relation.schema, names, strict=True))
    return From((relation,), scope_of(called, fields))


def _names_written(node: exp.Expr, call: exp.Expr) -> Sequence[str]:
    """The names of columns in the alias; sqlglot takes the last one away for WITH ORDINALITY of UNNEST."""
    alias, last = node.args.get("alias"), call.args.get("offset")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    names = [column.name for column in columns or ()]
    return [*names, last.name] if isinstance(last, exp.Identifier) else names
