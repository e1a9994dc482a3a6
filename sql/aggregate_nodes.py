"""The kinds of sqlglot's nodes that are aggregates: those that it knows, and for the others kinds of our own."""

from __future__ import annotations

from sqlglot import exp

from ivm.sql.ir.aggregates import AGGREGATES, AggregateFunction


def _own(name: str, declared: AggregateFunction) -> type[exp.AggFunc]:
    arguments = {arg: place < declared.least for place, arg in enumerate(("this", "expression")[: declared.most])}
    members = {"arg_types": arguments, "_sql_names": (name.upper(),)}
    return type(name.title().replace("_", ""), (exp.Expression, exp.AggFunc), members)


_OF_BITS = {"bit_and": exp.BitwiseAndAgg, "bit_or": exp.BitwiseOrAgg, "bit_xor": exp.BitwiseXorAgg}

OWN: dict[str, type[exp.AggFunc]] = {}
"""Of our own, by the names in upper case that calls have."""

FUNCTIONS: dict[type[exp.Expr], str] = {}
"""Of each kind which aggregate it is."""

for _declared in AGGREGATES.values():
    for _called in _declared.called or (_declared.name,):
        if not _declared.most:
            continue
        _kind = _OF_BITS.get(_called) or exp.FUNCTION_BY_NAME.get(_called.upper())
        if _kind is None:
            _kind = OWN[_called.upper()] = _own(_called, _declared)
        FUNCTIONS[_kind] = _declared.name
