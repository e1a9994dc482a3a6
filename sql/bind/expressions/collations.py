"""COLLATE: texts compared without their case or accents, which is by what a function makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from catalog.types import NULL, VARCHAR
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.folded import folded
from sql.ir.scalar import Call

_KEYS = {"nocase": "lower", "noaccent": "strip_accents", "nfc": "nfc_normalize"}
"""By what a collation compares."""
_PLAIN = ("binary", "c", "posix")
"""Collations that compare texts themselves."""
_ORDER = ("nfc", "noaccent", "nocase")
_PLACES = (exp.Ordered, exp.Window, exp.Group)


def operands_of(
    binder: Binder, nodes: Sequence[exp.Expr], bind: Callable[[exp.Expr], Operand] | None = None
) -> list[Operand]:
    """The operands of a comparison; if one has a collation, all as what it compares by."""
    found = {names for node in nodes if (names := _collation(binder, node)) is not None}
    if not found:
        return [(bind or binder.bind)(node) for node in nodes]
    if len(found) > 1:
        binder.fail(nodes[-1], "the sides of this comparison have different collations; write one of them")
    (names,) = found
    return [_key(binder, node, names) for node in nodes]


def bind_collate(binder: Binder, node: exp.Expr) -> Operand:
    """COLLATE where values are told apart and not shown, as in ORDER BY and GROUP BY: what it compares by."""
    names = _collation(binder, node)
    assert names is not None, "dispatched by class"
    if not _only_compares(node):
        what = (
            "COLLATE is maintained in comparisons, ORDER BY, PARTITION BY, GROUP BY, DISTINCT ON and count(DISTINCT ..)"
        )
        binder.refuse(node, f"{what}; write lower(..) or strip_accents(..) for what it makes equal")
    return _key(binder, node, names)


def _only_compares(node: exp.Expr) -> bool:
    """Whether what stands in the place of a node is compared with others of its kind, and nothing else."""
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if isinstance(above, exp.Tuple):  # DISTINCT ON (..)
        return isinstance(above.parent, exp.Distinct)
    return isinstance(above, _PLACES) or (isinstance(above, exp.Distinct) and isinstance(above.parent, exp.Count))


def _collation(binder: Binder, node: exp.Expr) -> tuple[str, ...] | None:
    """The names of the collation of an expression, in the order in which they are applied; None if it has none."""
    inner = node.unnest()
    if not isinstance(inner, exp.Collate):
        return None
    names = inner.expression.sql("duckdb").replace('"', "").lower().split(".")
    if len(names) == 1 and names[0] in _PLAIN:
        inner.set("expression", exp.to_identifier(names[0], quoted=True))  # a word of DuckDB's grammar else
        return ()
    for name in names:
        if name not in _KEYS:
            known = ", ".join(each.upper() for each in _KEYS)
            binder.refuse(inner, f"the collation {name!r} is not supported; {known}, joined by dots, and BINARY are")
    return tuple(name for name in _ORDER if name in names)


def _key(binder: Binder, node: exp.Expr, names: tuple[str, ...]) -> Operand:
    inner = node.unnest()
    operand = binder.bind(inner.this if isinstance(inner, exp.Collate) else node)
    if operand.type not in (VARCHAR, NULL):
        binder.mismatch(node, f"a collation is of texts, not of {operand.type}; cast it to VARCHAR")
    if operand.type == NULL:
        return operand
    scalar = operand.scalar
    for name in names:
        scalar = Call(_KEYS[name], (scalar,), VARCHAR, scalar.nullable)
    return Operand(node, folded(scalar))


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Collate: bind_collate}
