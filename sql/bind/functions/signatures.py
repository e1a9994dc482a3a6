"""Functions whose arguments and result have fixed types: one table, by the name that DuckDB gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, HUGEINT, INTEGER, NULL, TIMESTAMP, VARCHAR, Kind, SqlType
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.ir.scalar import MAKES_NULL, Call, Literal, Scalar
from sql.types.term import holds

Taker = Callable[[Binder, exp.Expr], Scalar]
"""Binds one argument and casts it to the type that the function takes; refuses what does not fit."""


def text_operand(binder: Binder, node: exp.Expr) -> Operand:
    """An operand that must be VARCHAR, or the ENUM that stands for one."""
    operand = binder.value(node)
    if operand.type.kind is Kind.ENUM:
        return Operand(node, binder.cast(operand, VARCHAR))
    if operand.type not in (VARCHAR, NULL):
        binder.mismatch(node, f"text is needed here, not {operand.type}; write CAST(... AS VARCHAR)")
    return operand


def number_operand(binder: Binder, node: exp.Expr) -> Operand:
    """An operand that must be a number; NULL is a BIGINT."""
    operand = binder.value(node)
    if operand.type == NULL:
        return Operand(node, Literal(None, BIGINT))
    if not operand.type.is_numeric:
        binder.mismatch(node, f"a number is needed here, not {operand.type}; cast it")
    return operand


def text(binder: Binder, node: exp.Expr) -> Scalar:
    """A VARCHAR."""
    return binder.cast(text_operand(binder, node), VARCHAR)


def double(binder: Binder, node: exp.Expr) -> Scalar:
    """Any number, as a DOUBLE."""
    return binder.cast(number_operand(binder, node), DOUBLE)


def integer(target: SqlType) -> Taker:
    """An integer of at most that type."""

    def take(binder: Binder, node: exp.Expr) -> Scalar:
        operand = binder.value(node)
        if operand.type != NULL and not (operand.type.is_integer and holds(target, operand.type)):
            binder.mismatch(node, f"this counts in integers, not {operand.type}; write CAST(... AS {target})")
        return binder.cast(operand, target)

    return take


def moment_as(target: SqlType) -> Taker:
    """A DATE or TIMESTAMP, with time zone or without, as the one of the first two that is given."""

    def take(binder: Binder, node: exp.Expr) -> Scalar:
        operand = binder.value(node)
        if not operand.type.is_moment and operand.type != NULL and not operand.is_text_literal:
            binder.mismatch(node, f"a DATE or TIMESTAMP is needed here, not {operand.type}; cast it")
        return binder.cast(operand, target)

    return take


@dataclass(frozen=True, slots=True)
class Signature:
    """`function` of `sql.ir.scalar`, what takes its arguments, its type; the last `optional` ones may be missing."""

    function: str
    takes: tuple[Taker, ...]
    type: SqlType
    optional: int = 0


_COUNT, _LONG = integer(INTEGER), integer(BIGINT)
_DAY, _STAMP = moment_as(DATE), moment_as(TIMESTAMP)
_DOUBLES = (
    *("sqrt", "cbrt", "ln", "log2", "log10", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "asinh", "acosh", "atanh", "cot", "degrees", "radians", "even"),
)

SIGNATURES: dict[str, Signature] = {
    **{name: Signature(name, (double,), DOUBLE) for name in _DOUBLES},
    **{name: Signature("power", (double, double), DOUBLE) for name in ("power", "pow")},
    "atan2": Signature("atan2", (double, double), DOUBLE),
    "isnan": Signature("is_nan", (double,), BOOLEAN),
    "isinf": Signature("is_inf", (double,), BOOLEAN),
    "factorial": Signature("factorial", (_COUNT,), HUGEINT),
    **{name: Signature("upper", (text,), VARCHAR) for name in ("upper", "ucase")},
    **{name: Signature("lower", (text,), VARCHAR) for name in ("lower", "lcase")},
    **{name: Signature("length", (text,), BIGINT) for name in ("length", "len", "char_length", "character_length")},
    "strlen": Signature("strlen", (text,), BIGINT),
    "bit_length": Signature("bit_length", (text,), BIGINT),
    "reverse": Signature("reverse", (text,), VARCHAR),
    "left": Signature("left", (text, _LONG), VARCHAR),
    "right": Signature("right", (text, _LONG), VARCHAR),
    "repeat": Signature("repeat", (text, _LONG), VARCHAR),
    "lpad": Signature("lpad", (text, _COUNT, text), VARCHAR),
    "rpad": Signature("rpad", (text, _COUNT, text), VARCHAR),
    "ltrim": Signature("ltrim", (text, text), VARCHAR, 1),
    "rtrim": Signature("rtrim", (text, text), VARCHAR, 1),
    "trim": Signature("trim", (text, text), VARCHAR, 1),
    **{name: Signature("substring", (text, _LONG, _LONG), VARCHAR, 1) for name in ("substring", "substr")},
    "replace": Signature("replace", (text, text, text), VARCHAR),
    "translate": Signature("translate", (text, text, text), VARCHAR),
    "split_part": Signature("split_part", (text, text, _LONG), VARCHAR),
    **{name: Signature("strpos", (text, text), BIGINT) for name in ("strpos", "instr", "position")},
    **{name: Signature("starts_with", (text, text), BOOLEAN) for name in ("starts_with", "prefix")},
    **{name: Signature("ends_with", (text, text), BOOLEAN) for name in ("ends_with", "suffix")},
    "contains": Signature("contains", (text, text), BOOLEAN),
    "ascii": Signature("ascii", (text,), INTEGER),
    **{name: Signature("unicode", (text,), INTEGER) for name in ("unicode", "ord")},
    "chr": Signature("chr", (_COUNT,), VARCHAR),
    **{name: Signature("levenshtein", (text, text), BIGINT) for name in ("levenshtein", "editdist3")},
    **{name: Signature("hex", (text,), VARCHAR) for name in ("hex", "to_hex")},
    **{name: Signature(name, (text,), VARCHAR) for name in ("md5", "sha1", "sha256")},
    "last_day": Signature("last_day", (_DAY,), DATE),
    "dayname": Signature("dayname", (_DAY,), VARCHAR),
    "monthname": Signature("monthname", (_DAY,), VARCHAR),
    "epoch_us": Signature("to_micros", (_STAMP,), BIGINT),
}


def apply(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand:
    """The function `name` of the table with these arguments; `node` is the call, for messages."""
    signature = SIGNATURES[name]
    most = len(signature.takes)
    if not most - signature.optional <= len(args) <= most:
        counted = f"{most - signature.optional} to {most}" if signature.optional else str(most)
        binder.fail(node, f"{name}() takes {counted} argument{'s' if most > 1 else ''}, not {len(args)}")
    scalars = tuple(take(binder, arg) for take, arg in zip(signature.takes, args, strict=False))
    nullable = signature.function in MAKES_NULL or any(scalar.nullable for scalar in scalars)
    return Operand(node, Call(signature.function, scalars, signature.type, nullable))


def _of_class(name: str, *keys: str) -> Handler:
    """Binds a class of nodes whose arguments stand under `keys`; those that are missing are left out."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        return apply(binder, node, name, [node.args[key] for key in keys if node.args.get(key) is not None])

    return bind


def bind_chr(binder: Binder, node: exp.Expr) -> Operand:
    """CHR(code point)."""
    return apply(binder, node, "chr", node.expressions)


def bind_pad(binder: Binder, node: exp.Expr) -> Operand:
    """LPAD, RPAD."""
    args = [node.args[key] for key in ("this", "expression", "fill_pattern") if node.args.get(key) is not None]
    return apply(binder, node, "lpad" if node.args.get("is_left") else "rpad", args)


def bind_sha2(binder: Binder, node: exp.Expr) -> Operand:
    """SHA256(x), which sqlglot reads as one of a family."""
    length = node.args.get("length")
    if length is not None and length.name != "256":
        binder.refuse(node, "of the SHA2 functions only sha256 is supported")
    return apply(binder, node, "sha256", [node.this])


def bind_trim(binder: Binder, node: exp.Expr) -> Operand:
    """TRIM(x [, characters]), TRIM(LEADING c FROM x), LTRIM, RTRIM."""
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return apply(binder, node, name, [node.this, *([node.expression] if node.args.get("expression") else [])])


def bind_position(binder: Binder, node: exp.Expr) -> Operand:
    """STRPOS(x, part), POSITION(part IN x)."""
    if node.args.get("position") or node.args.get("occurrence"):
        binder.refuse(node, "a position counted from a start or by occurrence is not supported; cut the text first")
    return apply(binder, node, "strpos", [node.this, node.args["substr"]])


_UNARY: dict[type[exp.Expr], str] = {
    exp.Sqrt: "sqrt", exp.Cbrt: "cbrt", exp.Ln: "ln", exp.Exp: "exp", exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan",
    exp.Asin: "asin", exp.Acos: "acos", exp.Atan: "atan", exp.Sinh: "sinh", exp.Cosh: "cosh", exp.Tanh: "tanh",
    exp.Asinh: "asinh", exp.Acosh: "acosh", exp.Atanh: "atanh", exp.Cot: "cot", exp.Degrees: "degrees",
    exp.Radians: "radians", exp.IsNan: "isnan", exp.IsInf: "isinf", exp.Factorial: "factorial", exp.Upper: "upper",
    exp.Lower: "lower", exp.Length: "length", exp.BitLength: "bit_length", exp.Reverse: "reverse", exp.Ascii: "ascii",
    exp.Unicode: "unicode", exp.MD5: "md5", exp.SHA: "sha1", exp.Hex: "hex", exp.LastDay: "last_day",
    exp.Dayname: "dayname", exp.Monthname: "monthname",
}  # fmt: skip

HANDLERS: dict[type[exp.Expr], Handler] = {
    **{kind: _of_class(name, "this") for kind, name in _UNARY.items()},
    exp.Pow: _of_class("power", "this", "expression"),
    exp.Atan2: _of_class("atan2", "this", "expression"),
    exp.Left: _of_class("left", "this", "expression"),
    exp.Right: _of_class("right", "this", "expression"),
    exp.Repeat: _of_class("repeat", "this", "times"),
    exp.Substring: _of_class("substring", "this", "start", "length"),
    exp.Replace: _of_class("replace", "this", "expression", "replacement"),
    exp.Translate: _of_class("translate", "this", "from_", "to"),
    exp.SplitPart: _of_class("split_part", "this", "delimiter", "part_index"),
    exp.StartsWith: _of_class("starts_with", "this", "expression"),
    exp.EndsWith: _of_class("ends_with", "this", "expression"),
    exp.Contains: _of_class("contains", "this", "expression"),
    exp.Levenshtein: _of_class("levenshtein", "this", "expression"),
    exp.Chr: bind_chr,
    exp.Pad: bind_pad,
    exp.SHA2: bind_sha2,
    exp.Trim: bind_trim,
    exp.StrPosition: bind_position,
}
