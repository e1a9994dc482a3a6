"""COLLATE, and where a collation goes: from columns and COLLATE to what is made of them.

As in DuckDB a collation belongs to the type of a text (`ivm.catalog.types.SqlType`). What is made of texts of which one
has a collation has it too, but for functions that take no notice; a search within a text goes by what the collation
makes of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ivm.catalog.types import NULL, VARCHAR, Kind, collated
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.folded import folded
from ivm.sql.ir.conditions import negation
from ivm.sql.ir.measures import has_measure, measure_of, with_collation
from ivm.sql.ir.scalar import Call, Scalar
from ivm.sql.types.collations import KNOWN, collation_named

_SEARCHES = frozenset(("like", "ilike", "glob", "contains", "starts_with", "strpos"))
"""Functions that look for a text within another as the collation of one of them has it."""
_NOT_SEARCHES = frozenset(("prefix",))
"""Names of such functions by which they go by the texts themselves."""
_WITHOUT = frozenset(("split_part",))
"""Functions of texts that give one without a collation, or with one that they say."""
_DEEP = 4
"""So many calls, one within the other, some functions are written with."""
_OF_LISTS = frozenset(
    ("list_value", "struct_pack", "list_extract", "field", "case", "coalesce", "list_length", "is_null")
)
"""What may be done with lists, structs and maps of texts with a collation: nothing that compares these."""


def bind_collate(binder: Binder, node: exp.Expr) -> Operand:
    """A text that is compared by another collation than its own, if it has one."""
    operand = binder.bind(node.this)
    if operand.type not in (VARCHAR, NULL):
        binder.mismatch(node, f"a collation is of texts, not of {operand.type}; cast it to VARCHAR")
    collation = collation_named(node.expression)
    if collation is None:
        binder.refuse(node, f"the collation {node.expression.sql()!r} is not supported; {KNOWN} are")
    return operand if operand.type == NULL else Operand(node, with_collation(operand.scalar, collation))


def collated_alike(binder: Binder, node: exp.Expr, operands: Sequence[Operand]) -> Sequence[Operand]:
    """The operands of a comparison, the texts among them with the collation that one of them has. BindError for two."""
    collation = _shared(binder, node, [operand.scalar for operand in operands])
    if not collation:
        return operands
    return [_with(operand, collation) if operand.type == VARCHAR else operand for operand in operands]


def _with(operand: Operand, collation: str) -> Operand:
    same = operand.type.collation == collation
    return operand if same else Operand(operand.node, with_collation(operand.scalar, collation))


def _shared(binder: Binder, node: exp.Expr, scalars: Sequence[Scalar]) -> str:
    found = dict.fromkeys(each.type.collation for each in scalars if each.type.collation)
    if len(found) > 1:
        binder.fail(node, f"texts of different collations ({', '.join(found)}) meet here; write COLLATE behind one")
    return next(iter(found), "")


def inherited(binder: Binder, operand: Operand) -> Operand:
    """What a function makes of texts with a collation: a text that has it too, and of a search what it finds by it.

    UnsupportedError for a function of lists, structs or maps of such texts that may compare them.
    """
    call = operand.scalar
    if not isinstance(call, Call) or call.type.collation:
        return operand
    if any(arg.type.is_nested and arg.type.is_collated for arg in call.args) and call.function not in _OF_LISTS:
        what = "a function of lists, structs or maps of texts with a collation is not supported"
        binder.refuse(operand.node, f"{what}; write COLLATE BINARY behind the texts that they are made of")
    if call.function == "not" and isinstance(call.args[0], Call) and call.args[0].function in _SEARCHES:
        return Operand(operand.node, negation(inherited(binder, Operand(operand.node, call.args[0])).scalar))
    if call.function in _SEARCHES and operand.node.name.lower() not in _NOT_SEARCHES:
        collation = _shared(binder, operand.node, call.args)
        return Operand(operand.node, _searched(call, collation)) if collation else operand
    if call.type.kind is not Kind.VARCHAR:
        return operand
    collation = _shared(binder, operand.node, list(_made_of(call, _DEEP)))
    type_ = collated(VARCHAR, collation)
    return Operand(operand.node, Call(call.function, call.args, type_, call.nullable)) if collation else operand


def _made_of(text: Scalar, deep: int) -> Iterator[Scalar]:
    """The texts that a text is made of, also by what one call is written with."""
    if isinstance(text, Call) and not text.type.collation and deep and text.function not in _WITHOUT:
        for arg in text.args:
            if arg.type.kind is Kind.VARCHAR:
                yield from _made_of(arg, deep - 1)
    else:
        yield text


def _searched(call: Call, collation: str) -> Scalar:
    args = [_by(arg, collation) if arg.type == VARCHAR else arg for arg in call.args]
    return Call(call.function, tuple(args), call.type, call.nullable)


def _by(text: Scalar, collation: str) -> Scalar:
    of = with_collation(text, collation)
    return folded(measure_of(of)) if has_measure(of.type) else text


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Collate: bind_collate}
