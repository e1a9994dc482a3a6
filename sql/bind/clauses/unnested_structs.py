"""UNNEST of a struct in a SELECT list, which stands for its fields, one column each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ivm.catalog.types import Kind, SqlType
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.names.stars import IS_FIELD
from ivm.sql.bind.unnest import depth_of, levels_of


def may_be_structs(items: Sequence[exp.Expr]) -> bool:
    """Whether an item might be UNNEST of a struct: what it is of must be bound to know."""
    return any(isinstance(item.unalias(), exp.Explode) for item in items)


def with_fields(binder: Binder, items: Sequence[exp.Expr], *, by_all: bool) -> list[exp.Expr]:
    """The items with the fields of structs in the place of their UNNEST. What is bound is told to `binder` alone.

    As many levels are taken apart as UNNEST says: those of lists first, then structs in structs. `by_all` if the block
    has GROUP BY ALL.
    """
    return [each for item in items for each in _fields(binder, item, by_all)]


def _fields(binder: Binder, item: exp.Expr, by_all: bool) -> Iterator[exp.Expr]:
    node = item.unalias()
    may_be = isinstance(node, exp.Explode) and not isinstance(node.this.unnest(), exp.GenerateSeries)
    levels = levels_of(binder, node) if may_be else 0
    given = binder.bind(node.this).type if levels else None
    lists = depth_of(given, levels) if given is not None else 0
    struct = given
    for _ in range(lists):
        struct = struct.element if struct is not None else None
    if struct is None or struct.kind is not Kind.STRUCT or levels == lists:
        yield item
        return
    if node.this.find(exp.Query) is not None:
        binder.refuse(node, "UNNEST of a struct by a subquery is not supported, nor is it by DuckDB; join it in FROM")
    if by_all:
        binder.refuse(node, "UNNEST of a struct with GROUP BY ALL is not supported, nor is it by DuckDB; list the keys")
    yield from _leaves(_elements(node, lists) if lists else node.this, struct, levels - lists)


def _elements(node: exp.Expr, lists: int) -> exp.Expr:
    """UNNEST of the lists alone."""
    levels = exp.PropertyEQ(this=exp.to_identifier("max_depth"), expression=exp.Literal.number(lists))
    found = exp.Explode(expressions=[levels])
    found.args["this"] = node.this  # whose parent stays the node that the oracle reads
    found.meta.update(node.meta)
    found.parent = node.parent
    return found


def _leaves(struct: exp.Expr, type_: SqlType, levels: int) -> Iterator[exp.Expr]:
    for place, (name, (_, field)) in enumerate(zip(type_.names, type_.fields, strict=True), 1):
        found = _field(struct, name if type_.fields[place - 1][0] else None, place)
        if field.kind is Kind.STRUCT and levels > 1:
            yield from _leaves(found, field, levels - 1)
            continue
        named = exp.Alias(this=found, alias=exp.to_identifier(name, quoted=True))
        named.meta[IS_FIELD] = True
        yield named


def _field(struct: exp.Expr, name: str | None, place: int) -> exp.Expr:
    """The field of a name, or at a place if it has none."""
    if name is None:
        found: exp.Expr = exp.Bracket(expressions=[exp.Literal.number(place)])
    else:
        found = exp.Dot(expression=exp.to_identifier(name, quoted=True))
    found.args["this"] = struct  # as above
    return found
