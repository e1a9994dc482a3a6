"""CASE and its like, printf(), format() and typeof(), and the functions that sqlglot knows by their name only.

Some of these no view can hold: their value changes by itself, or is not one of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from ivm.catalog.names import key, suggestion
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTERVAL, NULL, UBIGINT, VARCHAR, holds
from ivm.sql.arguments import PLAIN
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.comparisons import compare, same_type, unified
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions import dates, enums, json, macros, numbers, structs, vectors
from ivm.sql.bind.functions.called import bind_called
from ivm.sql.bind.functions.clock import bind_clock, clock_type
from ivm.sql.bind.functions.intervals import TO_UNITS
from ivm.sql.bind.functions.lambdas import bind_lambda
from ivm.sql.bind.functions.lists import bind_aggregate_of, bind_list, bind_zip
from ivm.sql.bind.functions.signatures import apply, text
from ivm.sql.bind.functions.texts import bind_named_groups, of_any_pattern
from ivm.sql.bind.unnest import BY_NAME as MAKING_ROWS
from ivm.sql.ir.conditions import comparison, is_null
from ivm.sql.ir.functions.nested import LAMBDAS
from ivm.sql.ir.measures import has_measure
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.sql_text import text_of
from ivm.sql.types.printed import Place, format_pieces, printf_pieces


def bind_case(binder: Binder, node: exp.Expr) -> Operand:
    """CASE WHEN condition THEN value ... ELSE value END, and CASE x WHEN value ..."""
    subject = binder.bind(node.this) if node.this else None
    conditions, values = [], []
    for branch in node.args["ifs"]:
        if subject is None:
            conditions.append(binder.condition(branch.this))
        else:
            conditions.append(compare(binder, branch, "eq", subject, binder.bind(branch.this)))
        values.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    values.append(binder.bind(default) if default else Operand(node, Literal(None, NULL)))
    return _case(binder, node, conditions, values)


def bind_if(binder: Binder, node: exp.Expr) -> Operand:
    """IF(condition, value, value)."""
    values = [binder.bind(node.args["true"])]
    default = node.args.get("false")
    values.append(binder.bind(default) if default else Operand(node, Literal(None, NULL)))
    return _case(binder, node, [binder.condition(node.this)], values)


def _case(binder: Binder, node: exp.Expr, conditions: list[Scalar], values: list[Operand]) -> Operand:
    if values[-1].type.is_nested:  # fields have the names that they have behind ELSE, as in DuckDB
        (other, *results), type_ = unified(binder, node, "CASE", [values[-1], *values[:-1]])
    else:
        (*results, other), type_ = unified(binder, node, "CASE", values)
    args = [part for branch in zip(conditions, results, strict=True) for part in branch]
    nullable = other.nullable or any(result.nullable for result in results)
    return Operand(node, Call("case", (*args, other), type_, nullable))


def bind_nullif(binder: Binder, node: exp.Expr) -> Operand:
    """NULLIF(x, y), of the type of x."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    first, second = same_type(binder, node, (left, right))
    if first.type == left.type and not has_measure(left.type) and not has_measure(right.type):
        return Operand(node, Call("nullif", (first, second), first.type))
    equal = comparison("eq", first, second)
    return Operand(node, Call("case", (equal, Literal(None, left.type), left.scalar), left.type))


def bind_choice(binder: Binder, node: exp.Expr) -> Operand:
    """COALESCE(x, ...), IFNULL(x, y), GREATEST(x, ...), LEAST(x, ...)."""
    operands = [binder.bind(arg) for arg in (node.this, *node.expressions)]
    scalars, type_ = unified(binder, node, node.key.upper(), operands)
    if holds(type_, INTERVAL) and not isinstance(node, exp.Coalesce):
        what = f"{node.key}() of INTERVALs is not supported: DuckDB's goes by their parts, not by their length"
        binder.refuse(node, f"{what}; write CASE WHEN x < y THEN x ELSE y END")
    return Operand(node, Call(node.key, scalars, type_, all(scalar.nullable for scalar in scalars)))


def bind_anonymous(binder: Binder, node: exp.Expr) -> Operand:
    """A function that sqlglot knows by its name only."""
    name, args = str(node.this).lower(), list(node.expressions)
    if key(name) in binder.functions:
        return bind_called(binder, node, binder.functions[key(name)])
    _refuse(binder, node, name)
    if clock_type(node) is not None:
        return bind_clock(binder, node)
    if name in json.BY_NAME:
        return json.BY_NAME[name](binder, node)
    if name in vectors.BY_NAME:
        return vectors.BY_NAME[name](binder, node)
    if name in structs.BY_NAME and args:
        return structs.BY_NAME[name](binder, node, args)
    if name == "regexp_extract_all" and len(args) > 2 and isinstance(args[2], exp.Array):
        return bind_named_groups(binder, node, name, args)
    if name in PLAIN:
        return apply(binder, node, name, args)
    if name in LAMBDAS:
        return bind_lambda(binder, node, name, args)
    if name in _OF_LISTS:
        return _OF_LISTS[name](binder, node)
    if name in _AGGREGATES_OF_LISTS:
        return bind_aggregate_of(binder, node, args)
    if name in TO_UNITS and len(args) == 1:
        return TO_UNITS[name](binder, node)
    if name in MAKING_ROWS:
        return MAKING_ROWS[name](binder, node)
    if name == "printf" and args:
        return bind_printed(binder, node, name, args)
    for family in (dates, numbers, macros, enums):
        found = family.by_name(binder, node, name, args)
        if found is not None:
            return found
    hint = suggestion(name, _names())
    if binder.no_functions:
        hint += f"; if it is the application's, {binder.no_functions}"
    hint = hint or "; store its value in a column, or write it with what is supported"
    binder.refuse(node, f"the function {name}() is not supported{hint}")


_OF_LISTS = {"list_pack": bind_list, "list_zip": bind_zip, "array_zip": bind_zip}
_AGGREGATES_OF_LISTS = ("list_aggregate", "array_aggregate", "list_aggr", "array_aggr", "aggregate")


def _names() -> tuple[str, ...]:
    """Every function that a user may have meant."""
    special = (*numbers.NAMES, *macros.MACROS, *dates.NAMED_PARTS, *TO_UNITS, *enums.NAMES, *vectors.BY_NAME, *_OTHERS)
    return (*dict.fromkeys((*PLAIN, *special)),)


_OTHERS = (
    "abs", "sign", "round", "trunc", "floor", "ceil", "mod", "log", "pi", "greatest", "least", "nullif",
    "coalesce", "if", "ifnull", "extract", "date_part", "date_trunc", "date_diff", "date_sub", "date_add",
    "make_date", "make_timestamp", "strftime", "strptime", "try_strptime", "epoch_ms", "concat",
    "concat_ws", "regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract", "isfinite",
    "xor", "printf", "format", "typeof", "unnest", "sum", "avg", "min", "max", "count", "stddev", "variance",
)  # fmt: skip


def bind_printed(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand:
    """PRINTF('%8.2f of %s', x, ...) and FORMAT('{:8.2f} of {}', x, ...)."""
    form, *others = args
    written = text(binder, form)
    operands = [binder.bind(arg) for arg in others]
    if not isinstance(written, Literal):
        given = (binder.cast(o, VARCHAR) if o.type == NULL or o.is_text_literal else o.stored for o in operands)
        return of_any_pattern(binder, node, name, (written, *given), VARCHAR)
    if written.value is None or any(operand.type == NULL for operand in operands):
        return Operand(node, Literal(None, VARCHAR))
    pieces = _pieces(binder, form, name, str(written.value))
    named = {piece.argument for piece in pieces if isinstance(piece, Place)}
    if named != set(range(len(operands))):
        what = f"the format of {name}() names {len(named)} arguments, and {len(operands)} are given"
        binder.fail(form, f"{what}; give as many as there are places")
    parts = tuple(
        Literal(piece, VARCHAR) if isinstance(piece, str) else _written(binder, piece, operands[piece.argument])
        for piece in pieces
    )
    if len(parts) < 2:
        return Operand(node, parts[0] if parts else Literal("", VARCHAR))
    return binder.call(node, "concat", parts, VARCHAR)


def _pieces(binder: Binder, form: exp.Expr, name: str, text: str) -> list[str | Place]:
    parse: Callable[[str], list[str | Place]] = printf_pieces if name == "printf" else format_pieces
    try:
        return parse(text)
    except ValueError as error:
        binder.refuse(form, f"in the format of {name}() {error}")


def _written(binder: Binder, place: Place, operand: Operand) -> Scalar:
    """The operand as the place has it."""
    type_ = operand.type
    try:
        if type_.is_integer:
            spec = place.of_integer()
            if spec == "d":
                return binder.cast(operand, VARCHAR)
            wide = type_ in (HUGEINT, UBIGINT)
            return _formatted(binder.cast(operand, HUGEINT if wide else BIGINT), spec)
        if type_.is_numeric:
            return _formatted(binder.cast(operand, DOUBLE), place.of_double())
        if type_ == BOOLEAN and place.letter == "s" and place.written.startswith("{"):
            binder.refuse(operand.node, f"{place.written!r} is not supported for a BOOLEAN; write {{}}")
        spec, text = place.of_text(), binder.cast(operand, VARCHAR)
        return text if place.is_plain else _formatted(text, spec)
    except ValueError as error:
        binder.mismatch(operand.node, f"{error}; cast it, or write another letter")


def _formatted(scalar: Scalar, spec: str) -> Scalar:
    return Call("formatted", (scalar, Literal(spec, VARCHAR)), VARCHAR, scalar.nullable)


def bind_typeof(binder: Binder, node: exp.Expr) -> Operand:
    """TYPEOF(x), which follows from the query."""
    operand = binder.bind(node.this)
    name = Literal('"NULL"' if operand.type == NULL else str(operand.type), VARCHAR)
    if not binder.is_grouped or isinstance(operand.scalar, Literal):
        return Operand(node, name)
    # What a group has no value of has no type either, which is found out where the columns are.
    return Operand(node, Call("case", (is_null(operand.scalar), name, name), VARCHAR, nullable=False))


_CLOCK = "write now(), current_timestamp, localtimestamp, localtime or current_date"
_CHANCE = "draw the value when a row is inserted and store it in a column"
_NUMBERED = "number the rows where they are inserted and store the number in a column"
_SESSION = "write the value as a literal"

_CHANGING: dict[str, str] = {
    **dict.fromkeys(
        ("get_current_time", "current_time", "getdate", "sysdate", "clock_timestamp", "statement_timestamp"), _CLOCK,
    ),
    **dict.fromkeys(("random", "rand", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "newid"), _CHANCE),
    **dict.fromkeys(("nextval", "currval", "lastval", "txid_current"), _NUMBERED),
    **dict.fromkeys(("current_user", "session_user", "user", "version", "current_setting", "current_schema",
                     "current_database", "current_catalog", "getvariable", "getenv"), _SESSION),
}  # fmt: skip
"""Functions whose value changes without a change to a table, by name, and what to do instead."""

_REFUSED: dict[str, str] = {
    "pg_typeof": "write typeof(x)",
    "hash": "its values differ between versions; write md5(x)",
    "error": "leave the rows out with WHERE",
    "to_timestamp": "timestamps have no time zone here; write epoch_ms(1000 * x) for x whole seconds",
    "iff": "write if(condition, a, b)",
    "isnull": "write x IS NULL",
    "date": "write CAST(x AS DATE)",
    "to_date": "write CAST(strptime(x, '%Y-%m-%d') AS DATE)",
    "to_char": "write strftime(x, '%Y-%m-%d')",
    "dateadd": "write x + INTERVAL (n) DAY",
}
"""Functions that are refused, by name, and what to do instead."""


def _refuse(binder: Binder, node: exp.Expr, name: str) -> None:
    """UnsupportedError if the function is one of those above."""
    if name in _CHANGING:
        written = text_of(node)
        binder.refuse(node, f"{written} changes without a change to a table; {_CHANGING[name]}")
    if name in _REFUSED:
        binder.refuse(node, f"the function {name}() is not supported; {_REFUSED[name]}")


def _refusing(name: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        _refuse(binder, node, name)
        raise AssertionError(name)

    return bind


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Case: bind_case,
    exp.If: bind_if,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), bind_choice),
    exp.Nullif: bind_nullif,
    exp.Anonymous: bind_anonymous,
    exp.Format: lambda binder, node: bind_printed(binder, node, "format", [node.this, *node.expressions]),
    exp.Typeof: bind_typeof,
    **{kind: _refusing(name) for name in _CHANGING if (kind := exp.FUNCTION_BY_NAME.get(name.upper())) is not None},
    exp.CurrentVersion: _refusing("version"),
}
