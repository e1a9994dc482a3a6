"""Functions of the values of one row: CASE and its like, numbers, text."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.catalog import suggestion
from catalog.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, NULL, VARCHAR, Kind, SqlType, decimal
from sql.bind.binder import Binder, Handler
from sql.bind.comparisons import compare, same_type, text
from sql.bind.moments import extract
from sql.bind.operand import Operand
from sql.ir.scalar import Call, Literal, Scalar
from sql.types.unify import unify


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
    results, type_ = _unified(binder, node, "CASE", values)
    args = [part for branch in zip(conditions, results, strict=False) for part in branch]
    return Operand(node, Call("case", (*args, results[-1]), type_, any(result.nullable for result in results)))


def _unified(
    binder: Binder, node: exp.Expr, what: str, operands: Sequence[Operand]
) -> tuple[tuple[Scalar, ...], SqlType]:
    type_ = unify([operand.term for operand in operands])
    if type_ is None:
        types = " and ".join(dict.fromkeys(str(operand.type) for operand in operands))
        binder.mismatch(node, f"{what} has values of types {types}; cast them to one type")
    return tuple(binder.cast(operand, type_) for operand in operands), type_


def bind_coalesce(binder: Binder, node: exp.Expr) -> Operand:
    """COALESCE(x, ...), IFNULL(x, y)."""
    operands = [binder.value(arg) for arg in (node.this, *node.expressions)]
    scalars, type_ = _unified(binder, node, "COALESCE", operands)
    return Operand(node, Call("coalesce", scalars, type_, all(scalar.nullable for scalar in scalars)))


def bind_nullif(binder: Binder, node: exp.Expr) -> Operand:
    """NULLIF(x, y), of the type of x."""
    left, right = binder.value(node.this), binder.value(node.expression)
    first, second = same_type(binder, node, (left, right))
    if first.type == left.type:
        return Operand(node, Call("nullif", (first, second), first.type))
    equal = Call("eq", (first, second), BOOLEAN, first.nullable or second.nullable)
    return Operand(node, Call("case", (equal, Literal(None, left.type), left.scalar), left.type))


def _extreme(function: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        operands = [binder.value(arg) for arg in (node.this, *node.expressions)]
        scalars, type_ = _unified(binder, node, function.upper(), operands)
        return Operand(node, Call(function, scalars, type_, all(scalar.nullable for scalar in scalars)))

    return bind


def bind_abs(binder: Binder, node: exp.Expr) -> Operand:
    """ABS(x), of the type of x."""
    operand = _number(binder, node.this)
    return binder.call(node, "abs", (operand.scalar,), operand.type)


def bind_round(binder: Binder, node: exp.Expr) -> Operand:
    """ROUND(x [, digits]): DECIMAL keeps its digits and at most `digits` decimals."""
    operand = _number(binder, node.this)
    digits = 0
    if node.args.get("decimals"):
        written = binder.value(node.args["decimals"])
        if written.integer is None:
            binder.refuse(node, "ROUND needs its number of digits as an integer literal")
        digits = written.integer
    type_ = operand.type
    if type_.kind is Kind.DECIMAL:
        type_ = decimal(type_.precision, min(max(digits, 0), type_.scale))
    return binder.call(node, "round", (operand.scalar, Literal(digits, INTEGER)), type_)


def _whole(function: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        operand = _number(binder, node.this)
        if operand.type.kind is Kind.DECIMAL:
            return binder.call(node, function, (operand.scalar,), decimal(operand.type.precision, 0))
        return binder.call(node, function, (binder.cast(operand, DOUBLE),), DOUBLE)

    return bind


def _doubles(function: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        args = [node.this, *([node.expression] if node.args.get("expression") else [])]
        return binder.call(node, function, tuple(binder.cast(_number(binder, arg), DOUBLE) for arg in args), DOUBLE)

    return bind


def _number(binder: Binder, node: exp.Expr) -> Operand:
    operand = binder.value(node)
    if operand.type == NULL:
        return Operand(node, Literal(None, BIGINT))
    if not operand.type.is_numeric:
        binder.mismatch(node, f"a number is needed here, not {operand.type}; cast it")
    return operand


def _of_text(function: str, type_: SqlType, *others: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        args = [_text(binder, node.args[name]) for name in ("this", *others)]
        return binder.call(node, function, tuple(args), type_)

    return bind


def _text(binder: Binder, node: exp.Expr) -> Scalar:
    return binder.cast(text(binder, node), VARCHAR)


def bind_trim(binder: Binder, node: exp.Expr) -> Operand:
    """TRIM(x), of blanks on both sides."""
    if node.args.get("expression") or node.args.get("position") not in (None, "BOTH"):
        binder.refuse(node, "only TRIM(x), of blanks on both sides, is supported")
    return binder.call(node, "trim", (_text(binder, node.this),), VARCHAR)


def bind_substring(binder: Binder, node: exp.Expr) -> Operand:
    """SUBSTRING(x, start [, length]), counted from 1."""
    args = [_text(binder, node.this)]
    for name in ("start", "length"):
        if node.args.get(name):
            operand = binder.value(node.args[name])
            if not operand.type.is_integer:
                binder.mismatch(node, f"SUBSTRING counts in integers, not {operand.type}")
            args.append(binder.cast(operand, BIGINT))
    return binder.call(node, "substring", tuple(args), VARCHAR)


def bind_concat(binder: Binder, node: exp.Expr) -> Operand:
    """CONCAT(x, ...), in which NULL counts as empty text."""
    parts = []
    for arg in node.expressions:
        part = _as_text(binder, binder.value(arg))
        empty = Literal("", VARCHAR)
        parts.append(Call("coalesce", (part, empty), VARCHAR, nullable=False) if part.nullable else part)
    return binder.call(node, "concat", tuple(parts), VARCHAR)


def bind_pipes(binder: Binder, node: exp.Expr) -> Operand:
    """The text x || y, NULL where either is."""
    left, right = binder.value(node.this), binder.value(node.expression)
    if NULL in (left.type, right.type):
        return Operand(node, Literal(None, NULL))
    if VARCHAR not in (left.type, right.type):
        binder.mismatch(node, f"|| needs text on one side, not {left.type} and {right.type}; cast one to VARCHAR")
    return binder.call(node, "concat", (_as_text(binder, left), _as_text(binder, right)), VARCHAR)


def _as_text(binder: Binder, operand: Operand) -> Scalar:
    return binder.cast(operand, VARCHAR)


def bind_anonymous(binder: Binder, node: exp.Expr) -> Operand:
    """A function that sqlglot knows by its name only."""
    name = str(node.this).lower()
    if name in ("date_part", "datepart") and len(node.expressions) == 2:
        return extract(binder, node, node.expressions[0].name, node.expressions[1])
    if name == "prefix" and len(node.expressions) == 2:
        args = tuple(_text(binder, arg) for arg in node.expressions)
        return binder.call(node, "starts_with", args, BOOLEAN)
    if name in _CHANGING:
        refuse_changing(binder, node)
    hint = suggestion(name, _NAMES) or "; store its value in a column, or write it with what is supported"
    binder.refuse(node, f"the function {name}() is not supported{hint}")


def refuse_changing(binder: Binder, node: exp.Expr) -> Operand:
    """Functions whose value changes by itself cannot be maintained."""
    what = f"{node.sql('duckdb')} changes without a change to a table"
    binder.refuse(node, f"{what}; store the value in a table and join with it, or write a literal")


_CHANGING = (
    "now", "random", "uuid", "gen_random_uuid", "get_current_timestamp", "get_current_time", "current_localtimestamp",
    "current_localtime", "transaction_timestamp", "setseed", "nextval", "currval", "txid_current", "age",
)  # fmt: skip
_NAMES = (
    "abs", "round", "floor", "ceil", "sqrt", "ln", "exp", "power", "mod", "greatest", "least", "nullif", "coalesce",
    "extract", "date_part", "date_trunc", "year", "month", "day", "upper", "lower", "trim", "length", "substring",
    "concat", "replace", "starts_with", "contains", "sum", "avg", "min", "max", "count", "stddev", "variance",
)  # fmt: skip

HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Case: bind_case,
    exp.If: bind_if,
    exp.Coalesce: bind_coalesce,
    exp.Nullif: bind_nullif,
    exp.Greatest: _extreme("greatest"),
    exp.Least: _extreme("least"),
    exp.Abs: bind_abs,
    exp.Round: bind_round,
    exp.Floor: _whole("floor"),
    exp.Ceil: _whole("ceil"),
    exp.Sqrt: _doubles("sqrt"),
    exp.Ln: _doubles("ln"),
    exp.Exp: _doubles("exp"),
    exp.Pow: _doubles("power"),
    exp.Upper: _of_text("upper", VARCHAR),
    exp.Lower: _of_text("lower", VARCHAR),
    exp.Length: _of_text("length", BIGINT),
    exp.Replace: _of_text("replace", VARCHAR, "expression", "replacement"),
    exp.StartsWith: _of_text("starts_with", BOOLEAN, "expression"),
    exp.Contains: _of_text("contains", BOOLEAN, "expression"),
    exp.Trim: bind_trim,
    exp.Substring: bind_substring,
    exp.Concat: bind_concat,
    exp.DPipe: bind_pipes,
    exp.Anonymous: bind_anonymous,
    exp.Rand: refuse_changing,
    exp.Uuid: refuse_changing,
    exp.CurrentDate: refuse_changing,
    exp.CurrentTime: refuse_changing,
    exp.CurrentTimestamp: refuse_changing,
    exp.CurrentUser: refuse_changing,
}
