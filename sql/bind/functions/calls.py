"""CASE and its like, and the functions that sqlglot knows by their name only."""

from __future__ import annotations

from sqlglot import exp

from catalog.names import suggestion
from catalog.types import NULL
from sql.arguments import PLAIN
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.comparisons import compare, same_type, unified
from sql.bind.expressions.operand import Operand
from sql.bind.functions import dates, numbers, printed
from sql.bind.functions.intervals import TO_UNITS
from sql.bind.functions.signatures import apply
from sql.bind.functions.unmaintained import refuse
from sql.ir.conditions import comparison
from sql.ir.scalar import Call, Literal, Scalar


def bind_case(binder: Binder, node: exp.Expr) -> Operand:
    """CASE WHEN condition THEN value ... ELSE value END, and CASE x WHEN value ..."""
    subject = binder.value(node.this) if node.this else None
    conditions, values = [], []
    for branch in node.args["ifs"]:
        if subject is None:
            conditions.append(binder.condition(branch.this))
        else:
            conditions.append(compare(binder, branch, "eq", subject, binder.value(branch.this)))
        values.append(binder.value(branch.args["true"]))
    default = node.args.get("default")
    values.append(binder.value(default) if default else Operand(node, Literal(None, NULL)))
    return _case(binder, node, conditions, values)


def bind_if(binder: Binder, node: exp.Expr) -> Operand:
    """IF(condition, value, value)."""
    values = [binder.value(node.args["true"])]
    default = node.args.get("false")
    values.append(binder.value(default) if default else Operand(node, Literal(None, NULL)))
    return _case(binder, node, [binder.condition(node.this)], values)


def _case(binder: Binder, node: exp.Expr, conditions: list[Scalar], values: list[Operand]) -> Operand:
    results, type_ = unified(binder, node, "CASE", values)
    args = [part for branch in zip(conditions, results, strict=False) for part in branch]
    return Operand(node, Call("case", (*args, results[-1]), type_, any(result.nullable for result in results)))


def bind_nullif(binder: Binder, node: exp.Expr) -> Operand:
    """NULLIF(x, y), of the type of x."""
    left, right = binder.value(node.this), binder.value(node.expression)
    first, second = same_type(binder, node, (left, right))
    if first.type == left.type:
        return Operand(node, Call("nullif", (first, second), first.type))
    equal = comparison("eq", first, second)
    return Operand(node, Call("case", (equal, Literal(None, left.type), left.scalar), left.type))


def bind_choice(binder: Binder, node: exp.Expr) -> Operand:
    """COALESCE(x, ...), IFNULL(x, y), GREATEST(x, ...), LEAST(x, ...)."""
    operands = [binder.value(arg) for arg in (node.this, *node.expressions)]
    scalars, type_ = unified(binder, node, node.key.upper(), operands)
    return Operand(node, Call(node.key, scalars, type_, all(scalar.nullable for scalar in scalars)))


def bind_anonymous(binder: Binder, node: exp.Expr) -> Operand:
    """A function that sqlglot knows by its name only."""
    name, args = str(node.this).lower(), list(node.expressions)
    refuse(binder, node, name)
    if name in PLAIN:
        return apply(binder, node, name, args)
    if name in TO_UNITS and len(args) == 1:
        return TO_UNITS[name](binder, node)
    for family in (dates, numbers, printed):
        found = family.by_name(binder, node, name, args)
        if found is not None:
            return found
    hint = suggestion(name, _names()) or "; store its value in a column, or write it with what is supported"
    binder.refuse(node, f"the function {name}() is not supported{hint}")


def _names() -> tuple[str, ...]:
    """Every function that a user may have meant."""
    special = (*numbers.NAMES, *dates.NAMED_PARTS, *TO_UNITS, *_OTHERS)
    return (*dict.fromkeys((*PLAIN, *special)),)


_OTHERS = (
    "abs", "sign", "round", "trunc", "floor", "ceil", "mod", "log", "pi", "greatest", "least", "nullif",
    "coalesce", "if", "ifnull", "extract", "date_part", "date_trunc", "date_diff", "date_sub", "date_add",
    "make_date", "make_timestamp", "strftime", "strptime", "try_strptime", "epoch_ms", "concat",
    "concat_ws", "regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract", "isfinite",
    "xor", "printf", "format", "typeof", "sum", "avg", "min", "max", "count", "stddev", "variance",
)  # fmt: skip

HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Case: bind_case,
    exp.If: bind_if,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), bind_choice),
    exp.Nullif: bind_nullif,
    exp.Anonymous: bind_anonymous,
}
