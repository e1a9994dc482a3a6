"""Texts put together, taken apart and matched: ||, CONCAT, CONCAT_WS, text[a:b], LIKE and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.names import twice
from ivm.catalog.types import BIGINT, BLOB, BOOLEAN, INTEGER, NULL, VARCHAR, Kind, SqlType, list_of, struct_of
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed, computed_of, constant_text
from ivm.sql.bind.functions.signatures import apply, integer, text, text_operand
from ivm.sql.ir.conditions import coalesced, is_null, junction, negation
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.scalar import Call, Literal, Scalar

_EMPTY = Literal("", VARCHAR)


def bind_concat(binder: Binder, node: exp.Expr) -> Operand:
    """CONCAT(x, ...), in which NULL counts as empty text; of lists as an empty one."""
    if "start" not in node.meta:  # 'a' 'b'
        binder.refuse(node, "two texts side by side are not put together; write || between them")
    given = [binder.as_list(binder.bind(arg)) for arg in node.expressions]
    if any(operand.type.kind is Kind.LIST for operand in given):
        return _concat_lists(binder, node, given)
    parts = [_or_empty(binder.cast(operand, VARCHAR)) for operand in given]
    if len(parts) == 1:
        return Operand(node, parts[0])
    return binder.call(node, "concat", tuple(parts), VARCHAR)


def _concat_lists(binder: Binder, node: exp.Expr, given: Sequence[Operand]) -> Operand:
    other = next((operand for operand in given if operand.type.kind not in (Kind.LIST, Kind.NULL)), None)
    if other is not None:
        binder.mismatch(other.node, f"concat() takes lists or texts, not both, and this is {other.type}; write [x]")
    return given[0] if len(given) == 1 else apply(binder, node, "list_concat", node.expressions)


def bind_concat_ws(binder: Binder, node: exp.Expr) -> Operand:
    """CONCAT_WS(separator, x, ...), which leaves NULLs out; NULL where the separator is."""
    if len(node.expressions) < 2:
        binder.fail(node, "concat_ws() needs a separator and something to put together")
    separator, *parts = (binder.cast(binder.bind(arg), VARCHAR) for arg in node.expressions)
    # Each part that is there with the separator before it, and of all that what follows the first separator.
    led = [_or_empty(binder.call(node, "concat", (separator, part), VARCHAR).scalar) for part in parts]
    joined = Call("concat", tuple(led), VARCHAR, nullable=False) if len(led) > 1 else led[0]
    length = Call("length", (separator,), BIGINT, separator.nullable)
    start = Call("add", (length, Literal(1, BIGINT)), BIGINT, separator.nullable)
    return binder.call(node, "substring", (joined, start), VARCHAR)


def _or_empty(part: Scalar) -> Scalar:
    if isinstance(part, Literal):
        return part if part.value is not None else _EMPTY
    return coalesced(part, _EMPTY) if part.nullable else part


def bind_pipes(binder: Binder, node: exp.Expr) -> Operand:
    """The text x || y of any two values, NULL where either is; of two lists one after the other."""
    left, right = (binder.as_list(binder.bind(each)) for each in (node.this, node.expression))
    if Kind.LIST in (left.type.kind, right.type.kind):
        return _bind_lists(binder, node, left, right)
    if NULL in (left.type, right.type):
        return Operand(node, Literal(None, NULL))
    if left.type == right.type == BLOB:
        return binder.call(node, "concat of BLOB", (left.scalar, right.scalar), BLOB)
    return binder.call(node, "concat", (binder.cast(left, VARCHAR), binder.cast(right, VARCHAR)), VARCHAR)


def _bind_lists(binder: Binder, node: exp.Expr, left: Operand, right: Operand) -> Operand:
    if not {left.type.kind, right.type.kind} <= {Kind.LIST, Kind.NULL}:
        binder.mismatch(node, f"|| needs two lists, not {left.type} and {right.type}; write list_append(l, x)")
    found = apply(binder, node, "list_concat", [node.this, node.expression])
    if NULL in (left.type, right.type):
        return Operand(node, Literal(None, found.type))
    missing = junction("or", [is_null(left.scalar), is_null(right.scalar)])
    return Operand(node, Call("case", (missing, Literal(None, found.type), found.scalar), found.type))


def bind_text_bracket(binder: Binder, node: exp.Expr) -> Operand:
    """text[i] and text[i:j], counted from 1, and from the end if negative."""
    if len(node.expressions) != 1:
        binder.refuse(node, "text[...] takes one position or a range, such as name[1:3]")
    place = node.expressions[0]
    if isinstance(place, exp.Slice) and binder.bind(node.this).type == BLOB:
        return _bytes_between(binder, node, place)
    subject = text(binder, node.this)
    take = integer(BIGINT)
    if not isinstance(place, exp.Slice):
        position = take(binder, place)
        return binder.call(node, "cut", (subject, position, position), VARCHAR)
    if place.args.get("step") is not None:
        binder.refuse(node, "a step in text[...] is not supported")
    first, last = place.args.get("this"), place.args.get("expression")
    start = take(binder, first) if first is not None else Literal(1, BIGINT)
    end = take(binder, last) if last is not None else Literal(-1, BIGINT)
    return binder.call(node, "cut", (subject, start, end), VARCHAR)


def _bytes_between(binder: Binder, node: exp.Expr, place: exp.Slice) -> Operand:
    """bytes[i:j], by DuckDB."""
    if place.args.get("step") is not None:
        binder.refuse(node, "a step in bytes[...] is not supported")
    first, last = place.args.get("this"), place.args.get("expression")
    start = integer(BIGINT)(binder, first) if first is not None else Literal(1, BIGINT)
    end = integer(BIGINT)(binder, last) if last is not None else Literal(-1, BIGINT)
    return computed(node, "array_slice", (binder.bind(node.this).scalar, start, end), BLOB)


def bind_like(binder: Binder, node: exp.Expr) -> Operand:
    """The conditions x LIKE 'pattern' and ILIKE."""
    matched = like(binder, node, node.key, ())
    return Operand(node, negation(matched) if node.args.get("negate") else matched)


def bind_escape(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x LIKE 'pattern' ESCAPE 'c'."""
    inner, escape = node.this, node.expression
    if not isinstance(inner, exp.Like | exp.ILike) or not isinstance(escape, exp.Literal) or not _is_byte(escape):
        binder.refuse(node, "ESCAPE needs LIKE or ILIKE before it and one ASCII character after it")
    matched = like(binder, inner, inner.key, (Literal(escape.name, VARCHAR),))
    return Operand(node, negation(matched) if inner.args.get("negate") else matched)


def _is_byte(escape: exp.Literal) -> bool:
    return len(escape.name.encode()) == 1


def like(binder: Binder, node: exp.Expr, function: str, escape: tuple[Literal, ...]) -> Scalar:
    """LIKE or ILIKE of a text and a pattern, which may vary."""
    if isinstance(node.expression, exp.Any | exp.All):
        binder.refuse(node, "LIKE ANY and LIKE ALL are not supported; join the conditions with OR or AND")
    of, pattern = text_operand(binder, node.this), binder.bind(node.expression)
    if NULL in (pattern.type, of.type):
        return Literal(None, BOOLEAN)
    if pattern.type != VARCHAR:
        binder.mismatch(node, f"a pattern must be text, not {pattern.type}")
    if escape and isinstance(pattern.scalar, Literal):
        _check_escape(binder, node, str(pattern.scalar.value), str(escape[0].value), function == "ilike")
    nullable = of.scalar.nullable or pattern.scalar.nullable
    return Call(function, (of.scalar, pattern.scalar, *escape), BOOLEAN, nullable)


def _check_escape(binder: Binder, node: exp.Expr, pattern: str, escape: str, any_case: bool) -> None:
    if any_case:
        pattern, escape = pattern.lower(), escape.lower()
    left = len(pattern) - len(pattern.rstrip(escape))
    if left % 2:
        binder.fail(node.expression, f"the pattern ends with {escape!r}, which escapes; put what it escapes behind it")


def _matching(function: str, options: str | None = None, always: str = "") -> Handler:
    """The condition that a regular expression matches x; its options stand under that name in the node, if they are
    not `always` the same.
    """

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        subject, given = text(binder, node.this), node.args.get(options) if options else None
        given = exp.Literal.string(always) if always else given
        if _varies(binder, node.expression):
            args = (subject, text(binder, node.expression), _options(binder, given))
            return of_any_pattern(binder, node, function, args, BOOLEAN)
        wanted = _pattern(binder, node.expression, given)
        if wanted is None:
            return Operand(node, Literal(None, BOOLEAN))
        return binder.call(node, function, (subject, Literal(wanted, VARCHAR)), BOOLEAN)

    return bind


def bind_regexp_replace(binder: Binder, node: exp.Expr) -> Operand:
    """REGEXP_REPLACE(x, pattern, replacement [, options]): the first match, with option g each."""
    options = node.args.get("modifiers")
    subject = text(binder, node.this)
    replacement = node.args.get("replacement")
    if replacement is None:
        binder.fail(node, "regexp_replace() needs a replacement; write '' to leave the match out")
    if _varies(binder, node.expression) or _varies(binder, replacement):
        args = (subject, text(binder, node.expression), text(binder, replacement), _options(binder, options, "g"))
        return of_any_pattern(binder, node, "regexp_replace", args, VARCHAR)
    rewrite = _literal(binder, replacement, "what replaces a match")
    every = options is not None and "g" in _literal_text(binder, options)
    pattern = _pattern(binder, node.expression, options, "g")
    if pattern is None or rewrite is None:
        return Operand(node, Literal(None, VARCHAR))
    literals = (Literal(pattern, VARCHAR), Literal(rewrite, VARCHAR), Literal(every, BOOLEAN))
    return binder.call(node, "regexp_replace", (subject, *literals), VARCHAR)


_MOST_GROUPS = 8


def bind_regexp_extract(binder: Binder, node: exp.Expr) -> Operand:
    """REGEXP_EXTRACT(x, pattern [, group [, options]]): '' where nothing matches; of a list of names a struct."""
    if isinstance(node.args.get("group"), exp.Array):
        given = [node.this, node.expression, node.args["group"], node.args.get("parameters")]
        return bind_named_groups(binder, node, "regexp_extract", [arg for arg in given if arg is not None])
    subject, group, options = text(binder, node.this), 0, node.args.get("parameters")
    if options is None and isinstance(node.args.get("group"), exp.Literal) and node.args["group"].is_string:
        options = node.args["group"]  # which stand where there is no group
    elif node.args.get("group") is not None:
        written = binder.bind(node.args["group"])
        if written.integer is None or not 0 <= written.integer <= _MOST_GROUPS:
            binder.refuse(node, f"regexp_extract() needs its group as an integer literal from 0 to {_MOST_GROUPS}")
        group = written.integer
    if _varies(binder, node.expression):
        args = (subject, text(binder, node.expression), Literal(group, INTEGER), _options(binder, options))
        return of_any_pattern(binder, node, "regexp_extract", args, VARCHAR)
    pattern = _pattern(binder, node.expression, options)
    if pattern is None:
        return Operand(node, Literal(None, VARCHAR))
    return binder.call(node, "regexp_extract", (subject, Literal(pattern, VARCHAR), Literal(group, INTEGER)), VARCHAR)


def _varies(binder: Binder, node: exp.Expr) -> bool:
    return not isinstance(text_operand(binder, node).scalar, Literal)


def of_any_pattern(binder: Binder, node: exp.Expr, function: str, args: tuple[Scalar, ...], type_: SqlType) -> Operand:
    """A function whose pattern or format is no literal, for which DuckDB is asked."""
    return Operand(node, Call(f"{function} of any pattern", args, type_))


def _options(binder: Binder, node: exp.Expr | None, more: str = "") -> Literal:
    letters = "" if node is None else _literal_text(binder, node)
    _check_options(binder, node, letters, more)
    return Literal(letters, VARCHAR)


def _check_options(binder: Binder, node: exp.Expr | None, letters: str, more: str) -> None:
    for letter in letters:
        if letter not in "cislmnp" + more:
            binder.refuse(
                node or exp.Null(), f"the option {letter!r} is not supported; options are c, i, l, m, n, p and s"
            )


def _pattern(binder: Binder, node: exp.Expr, options: exp.Expr | None, more: str = "") -> str | None:
    """The pattern with its options written into it; None for NULL."""
    pattern = _literal(binder, node, "a regular expression")
    if options is None or pattern is None:
        return pattern
    letters = _literal_text(binder, options)
    _check_options(binder, options, letters, more)
    if "l" in letters:
        pattern = re.sub(r"([^A-Za-z0-9_\x80-\U0010ffff])", r"\\\1", pattern)
    flags = "".join(flag for flag in "is" if letters.rfind(flag) > max(map(letters.rfind, _UNDONE[flag])))
    return f"(?{flags}){pattern}" if flags else pattern


_UNDONE = {"i": "c", "s": "mnp"}
"""Options that take another back."""


def _literal_text(binder: Binder, node: exp.Expr) -> str:
    return _literal(binder, node, "the options of a regular expression") or ""


def _literal(binder: Binder, node: exp.Expr, what: str) -> str | None:
    operand = text_operand(binder, node)
    if not isinstance(operand.scalar, Literal):
        binder.refuse(node, f"{what} that varies from row to row is not supported; write it as a literal")
    return None if operand.scalar.value is None else str(operand.scalar.value)


def bind_named_groups(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand:
    """REGEXP_EXTRACT(x, pattern, names [, options]), a struct of what the groups match, and REGEXP_EXTRACT_ALL, a list
    of such.
    """
    subject, pattern, names = args[:3]
    if not names.expressions or not all(each.is_string for each in names.expressions):
        binder.refuse(names, f"{name}() takes the names of groups as a list of texts; write ['a', 'b']")
    if _varies(binder, pattern):
        binder.refuse(pattern, f"{name}() with names of groups needs its pattern as a literal")
    fields = [(each.name, VARCHAR) for each in names.expressions]
    again = twice(field for field, _ in fields)
    if again is not None:
        binder.fail(names, f"{name}() has two groups called {again!r}; name each once")
    constants = ", ".join(constant_text(binder, each, "patterns, names and options") for each in args[1:])
    type_ = struct_of(fields) if name == "regexp_extract" else list_of(struct_of(fields))
    return computed_of(node, f"{name}({places_of(1)[0]}, {constants})", [text(binder, subject)], type_)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Concat: bind_concat,
    exp.ConcatWs: bind_concat_ws,
    exp.DPipe: bind_pipes,
    exp.Like: bind_like,
    exp.ILike: bind_like,
    exp.Escape: bind_escape,
    exp.Glob: lambda binder, node: Operand(
        node, Call("glob", (text(binder, node.this), text(binder, node.expression)), BOOLEAN)
    ),
    exp.SimilarTo: _matching("regexp_full_match"),  # all of x, as in DuckDB
    exp.RegexpLike: _matching("regexp_matches", "flag"),  # x ~ pattern too
    exp.RegexpILike: _matching("regexp_matches", always="i"),  # x ~* pattern
    exp.RegexpFullMatch: _matching("regexp_full_match", "options"),
    exp.RegexpReplace: bind_regexp_replace,
    exp.RegexpExtract: bind_regexp_extract,
}
