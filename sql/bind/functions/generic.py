"""Functions whose types hold variables, such as list_append(T[], T): what the arguments have in common stands for T."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat

from sqlglot import exp

from ivm.catalog.types import DOUBLE, HUGEINT, MAX_DIGITS, NULL, Kind, SqlType, decimal
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.functions import Function
from ivm.sql.ir.scalar import Call
from ivm.sql.types.unify import OperandType, unify

Found = dict[str, list[OperandType]]
"""By the names of variables what stands for them."""


def is_generic(function: Function) -> bool:
    """Whether its types hold variables, or it takes lists, structs or maps, or any number of arguments."""
    types = (type_ for type_ in function.takes if isinstance(type_, SqlType))
    return "..." in function.takes or any(type_.is_nested or _names(type_) for type_ in types)


def takes_so_many(function: Function, args: int) -> bool:
    """Whether it takes so many arguments."""
    if "..." in function.takes:
        return args >= len(function.takes) - 1
    return len(function.takes) - function.optional <= args <= len(function.takes)


def bind_generic(binder: Binder, node: exp.Expr, function: Function, args: Sequence[exp.Expr]) -> Operand:
    """A call of a generic function; TypeMismatchError for arguments that it does not take."""
    operands, takes = (
        [binder.bind(arg) for arg in args],
        [each for each in function.takes if isinstance(each, SqlType)],
    )
    every = list(zip(operands, chain(takes, repeat(takes[-1])), strict=False))
    found: Found = {}
    for operand, type_ in every:
        if not _collect(type_, operand.term, found):
            binder.mismatch(
                operand.node, f"{function.names[0]}() takes {_shown(type_)} here, not {operand.type}; cast it"
            )
    types = {name: unify(terms) for name, terms in found.items()}
    for name, common in types.items():
        if common is None:
            given = " and ".join(dict.fromkeys(str(term.type) for term in found[name]))
            binder.mismatch(node, f"{function.names[0]}() has arguments of types {given}; cast them to one type")
    solved = {name: common for name, common in types.items() if common is not None}
    scalars = tuple(binder.cast(operand, _substituted(type_, solved)) for operand, type_ in every)
    gives = _sum_of(solved["T"]) if isinstance(function.gives, str) else _substituted(function.gives, solved)
    nullable = function.makes_null or any(scalar.nullable for scalar in scalars)
    return Operand(node, Call(function.name, scalars, gives, nullable))


def _collect(type_: SqlType, given: OperandType, found: Found) -> bool:
    """Note what stands for the variables of a type; whether what is given may be of it."""
    if type_.kind is Kind.NULL:
        found.setdefault(type_.labels[0], []).append(OperandType(given.type, text=given.text))
        return True
    if given.type == NULL:
        for name in _names(type_):
            found.setdefault(name, [])
        return True
    if not type_.is_nested:
        return given.text or _becomes(given.type, type_)
    is_list = given.type.kind is Kind.ARRAY and type_.kind is Kind.LIST
    if given.type.kind is not type_.kind and not is_list:
        return False
    if type_.element is not None and given.type.element is not None:
        return _collect(type_.element, OperandType(given.type.element), found)
    pairs = zip(type_.fields, given.type.fields, strict=False)
    return len(type_.fields) == len(given.type.fields) and all(
        _collect(one, OperandType(other), found) for (_, one), (_, other) in pairs
    )


def _becomes(given: SqlType, wanted: SqlType) -> bool:
    """Whether a value of one type goes where another is taken, as DuckDB casts by itself."""
    if wanted.is_numeric:
        return given.is_integer or (given.is_numeric and not wanted.is_integer)
    if given.is_text and wanted.is_text:
        return True
    return given in (wanted, NULL) or (given.kind is Kind.ENUM and wanted.kind is Kind.VARCHAR)


def _names(type_: SqlType) -> list[str]:
    """The names of the variables of a type."""
    parts = [field for _, field in type_.fields] + ([type_.element] if type_.element is not None else [])
    return [*type_.labels] if type_.kind is Kind.NULL else [name for part in parts for name in _names(part)]


def _substituted(type_: SqlType, types: dict[str, SqlType]) -> SqlType:
    if type_.kind is Kind.NULL and type_.labels:
        return types.get(type_.labels[0], NULL)
    if type_.element is not None:
        return replace(type_, element=_substituted(type_.element, types))
    return replace(type_, fields=tuple((name, _substituted(field, types)) for name, field in type_.fields))


def _shown(type_: SqlType) -> str:
    kinds = {Kind.NULL: "any value", Kind.LIST: "a list", Kind.MAP: "a map", Kind.STRUCT: "a struct"}
    return kinds.get(type_.kind, f"a {type_}")


def _sum_of(type_: SqlType) -> SqlType:
    if type_.is_float:
        return DOUBLE
    return decimal(MAX_DIGITS, type_.scale) if type_.kind is Kind.DECIMAL else HUGEINT
