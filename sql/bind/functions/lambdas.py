"""Lambdas: list_transform, list_filter and list_reduce, and [f(x) FOR x IN list IF condition].

What a lambda computes is bound, with its parameters as columns, to know its type. DuckDB computes it then, of the text
that is written, in which each column of the row is an argument of the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.names import by_key, key, written
from ivm.catalog.types import BIGINT, BOOLEAN, NULL, Kind, SqlType, list_of
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed_of
from ivm.sql.ir.functions.nested import LAMBDAS, PLACE
from ivm.sql.ir.scalar import Outer, Scalar
from ivm.sql.sql_text import text_of
from ivm.sql.types.unify import common_type

_PARAMETERS = -(1 << 41)
"""The number of the Outers that stand for parameters while the type of what is computed is found."""


def bind_lambda(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand:
    """A function of a list and a lambda, by its name; of a list that is reduced, perhaps with what it begins with."""
    function = LAMBDAS[name]
    if not 2 <= len(args) <= 2 + (function == "list_reduce") or not isinstance(args[1], exp.Lambda):
        binder.fail(node, f"{name}() takes a list and a lambda, such as {name}(l, lambda x: x + 1)")
    subject = _list(binder, args[0], name)
    first = binder.bind(args[2]) if len(args) > 2 else None
    parameters = [parameter.name for parameter in args[1].expressions]
    element = subject.type.element or NULL
    taken = _taken(function, element, first)
    if not 1 <= len(parameters) <= len(taken) or (function == "list_reduce" and len(parameters) < 2):
        binder.fail(args[1], f"the lambda of {name}() has {len(parameters)} parameters; see {name}(l, lambda x: x)")
    body = _Body(binder, dict(zip(parameters, taken, strict=False)))
    found = body.type_of(args[1].this)
    if function == "list_filter":
        _check_condition(binder, args[1], found)
        type_ = subject.type
    elif function == "list_transform":
        type_ = list_of(found)
    else:
        type_ = common_type(found, taken[0]) or taken[0]
    shown = f"lambda {', '.join(map(_quoted, parameters))}: {body.text(args[1].this, 3 if first is not None else 2)}"
    arguments = [subject.scalar, *([] if first is None else [first.scalar])]
    places = ", ".join([PLACE.format(1), shown, *([] if first is None else [PLACE.format(2)])])
    return computed_of(node, f"{function}({places})", [*arguments, *body.columns], type_)


def bind_comprehension(binder: Binder, node: exp.Comprehension) -> Operand:
    """[f(x) FOR x IN list IF condition]: the elements on which the condition holds, and of each what is computed."""
    subject, parameter = _list(binder, node.args["iterator"], "FOR .. IN"), node.expression
    if not isinstance(parameter, exp.Identifier):
        binder.refuse(node, "FOR with several names is not supported; write list_transform(l, lambda x, i: ..)")
    place, condition = node.args.get("position"), node.args.get("condition")
    parameters = {parameter.name: subject.type.element or NULL, **({} if place is None else {place.name: BIGINT})}
    if place is not None and condition is not None:
        what = "FOR with a position and IF is not supported, for which elements count is said before they are chosen"
        binder.refuse(node, f"{what}; write list_transform(list_filter(l, lambda x, i: ..), lambda x: ..)")
    body = _Body(binder, parameters)
    found, source = body.type_of(node.this), PLACE.format(1)
    name = ", ".join(map(_quoted, parameters))
    if condition is not None:
        _check_condition(binder, condition, body.type_of(condition))
        source = f"list_filter({source}, lambda {name}: {body.text(condition, 2)})"
    text = f"list_transform({source}, lambda {name}: {body.text(node.this, 2)})"
    return computed_of(node, text, [subject.scalar, *body.columns], list_of(found))


def _list(binder: Binder, node: exp.Expr, name: str) -> Operand:
    subject = binder.as_list(binder.bind(node))
    if subject.type.kind is not Kind.LIST:
        binder.mismatch(node, f"{name} takes a list, not {subject.type}")
    return subject


def _taken(function: str, element: SqlType, first: Operand | None) -> tuple[SqlType, ...]:
    """The types of the parameters that a lambda may have."""
    if function != "list_reduce":
        return element, BIGINT
    return element if first is None else common_type(first.type, element) or first.type, element, BIGINT


def _check_condition(binder: Binder, node: exp.Expr, found: SqlType) -> None:
    if found not in (BOOLEAN, NULL) and not found.is_integer:
        binder.mismatch(node, f"this is to be a condition, not a {found}; compare it with something")


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


class _Body:
    """What is computed with parameters of some types. `columns` are those of the row that it reads."""

    def __init__(self, binder: Binder, parameters: dict[str, SqlType]) -> None:
        self._binder, self._types = binder, by_key(parameters.items())
        self._names = list(parameters)
        self.columns: list[Scalar] = []

    def type_of(self, node: exp.Expr) -> SqlType:
        """The type of what is computed; refuses what reads more than the row."""
        odd = node.find(exp.Query, exp.AggFunc, exp.Window)
        if odd is not None:
            self._binder.refuse(odd, f"{text_of(odd)[:60]} in a lambda is not supported; compute it before")
        known = dict(self._binder.known)
        for place, name in enumerate(self._names):
            type_ = self._types[key(name)]
            known |= {
                id(each): Operand(each, Outer(_PARAMETERS, place, type_))
                for each in self._read(node)
                if _is(each, name)
            }
        found = replace(self._binder, known=known).bind(node)
        return found.stored.type if found.type != NULL else NULL

    def text(self, node: exp.Expr, first: int) -> str:
        """The text of it; columns are the arguments of the call from number `first` on."""
        tree = exp.Paren(this=node.copy())
        mine = list(self._read(node))
        outer = [each for each in node.find_all(exp.Column) if not any(each is one for one in mine)]
        copies = list(tree.this.find_all(exp.Column))
        for column, place in zip(node.find_all(exp.Column), copies, strict=True):
            if any(column is each for each in outer) and not self._is_inner(column):
                scalar = self._binder.bind(column).scalar
                if scalar not in self.columns:
                    self.columns.append(scalar)
                place.replace(exp.Var(this=PLACE.format(first + self.columns.index(scalar))))
        return tree.sql("duckdb")

    def _read(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The nodes that name parameters."""
        for each in node.find_all(exp.Identifier, exp.Column):
            if isinstance(each, exp.Column):
                if not each.table and written(each.name, self._names):
                    yield each
            elif _may_be_parameter(each) and written(each.name, self._names):
                yield each

    def _is_inner(self, column: exp.Column) -> bool:
        """Whether it is a name of a comprehension within."""
        within = column.find_ancestor(exp.Comprehension)
        names = (within.expression, within.args.get("position")) if within is not None else ()
        return not column.table and key(column.name) in {key(name.name) for name in names if name is not None}


def _may_be_parameter(node: exp.Expr) -> bool:
    is_field = isinstance(node.parent, exp.Dot) and node.arg_key == "expression"
    is_declared = isinstance(node.parent, exp.Lambda) and node.arg_key == "expressions"
    return not is_field and not is_declared and not isinstance(node.parent, exp.Column | exp.PropertyEQ)


def _is(node: exp.Expr, name: str) -> bool:
    return key(node.name) == key(name)
