"""Which columns are wanted, by their names: patterns behind a star, and the names that COLUMNS(..) is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from ivm.catalog.names import key
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.names.scope import Scope
from ivm.sql.folded import folded
from ivm.sql.ir.functions.nested import LAMBDAS
from ivm.sql.ir.scalar import Literal

Filter = Callable[[str], bool]
"""Whether a column is wanted, by its name."""
Names = Sequence[str]

TESTS = (exp.Like, exp.ILike, exp.SimilarTo, exp.Glob, exp.RegexpLike, exp.RegexpILike)
"""What may say which columns * stands for."""
_REGULAR = (exp.SimilarTo, exp.RegexpLike, exp.RegexpILike)


def named_like(context: BindContext, test: exp.Expr) -> Filter:
    """Whether a name satisfies a condition such as LIKE; refuses a pattern that is no literal, or cannot be read."""
    if not test.expression.is_string:
        context.refuse(test, "the pattern behind * is a text literal; write one")
    pattern = test.expression.name
    if isinstance(test, exp.RegexpLike | exp.RegexpILike):
        found = pattern_of(context, test, f"(?i){pattern}" if isinstance(test, exp.RegexpILike) else pattern)
        return lambda name: found.search(name) is not None
    if isinstance(test, exp.SimilarTo):
        matches = pattern_of(context, test, pattern)
    else:
        wild = ("*", "?") if isinstance(test, exp.Glob) else ("%", "_")
        parts = {wild[0]: ".*", wild[1]: "."}
        written = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
        matches = re.compile(written, re.DOTALL | (re.IGNORECASE if isinstance(test, exp.ILike) else 0))
    negated = bool(test.args.get("negate"))
    return lambda name: (matches.fullmatch(name) is None) == negated


def regular(context: BindContext, test: exp.Expr | None) -> re.Pattern[str] | None:
    """The regular expression of a condition; None if it has none."""
    return pattern_of(context, test, test.expression.name) if isinstance(test, _REGULAR) else None


def pattern_of(context: BindContext, node: exp.Expr, pattern: str) -> re.Pattern[str]:
    """A regular expression; refuses one that Python does not read."""
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        context.refuse(node, f"cannot read the regular expression {pattern!r}: {error}; list the columns")


def computed_names(context: BindContext, node: exp.Expr, starred: Callable[[exp.Expr], Names | None]) -> str | Names:
    """What COLUMNS(..) is given: a regular expression, or names of columns.

    `starred` tells the names that a star stands for, None for what is none.
    """
    if isinstance(node, exp.Lambda):
        found = starred(exp.Star())
        assert found is not None, "it is a star"
        return _filtered(context, node, found)
    names = _listed(context, node, starred)
    if names is not None:
        return names
    text = _computed(context, node)
    if not isinstance(text, str):
        context.refuse(node, f"COLUMNS takes *, a regular expression or a list of names; {_INSTEAD}")
    return text


_INSTEAD = "list the columns"
_LISTS = ("LIST_VALUE", "LIST_PACK")


def _listed(context: BindContext, node: exp.Expr, starred: Callable[[exp.Expr], Names | None]) -> Names | None:
    """The texts of a list; None for what is none."""
    node = node.unnest()
    names = starred(node)
    if names is not None:
        return names
    if (
        isinstance(node, exp.Array)
        and len(node.expressions) == 1
        and isinstance(node.expressions[0], exp.Comprehension)
    ):
        return _comprehended(context, node.expressions[0], starred)
    call = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Array) or call.upper() in _LISTS:
        return [_text(context, each) for each in node.expressions]
    function, args = LAMBDAS.get(call), node.expressions
    if function in ("list_filter", "list_transform") and len(args) == 2 and isinstance(args[1], exp.Lambda):
        names = _listed(context, args[0], starred)
        if names is not None:
            return (_filtered if function == "list_filter" else _transformed)(context, args[1], names)
    return None


def _comprehended(
    context: BindContext, node: exp.Comprehension, starred: Callable[[exp.Expr], Names | None]
) -> Names | None:
    """[f(x) FOR x IN names IF condition]."""
    names, place = _listed(context, node.args["iterator"], starred), node.args.get("position")
    if names is None or not isinstance(node.expression, exp.Identifier):
        return None
    parameters = [node.expression, *([] if place is None else [place])]
    condition = node.args.get("condition")
    if condition is not None:
        names = _filtered(context, exp.Lambda(this=condition, expressions=parameters), names)
        parameters = parameters[:1]
    return _transformed(context, exp.Lambda(this=node.this, expressions=parameters), names)


def _filtered(context: BindContext, test: exp.Lambda, names: Names) -> Names:
    rows = ((name, _given(context, test, name, place)) for place, name in enumerate(names, 1))
    return [name for name, given in rows if _holds(context, _put(test.this, given))]


def _transformed(context: BindContext, made: exp.Lambda, names: Names) -> Names:
    rows = (_given(context, made, name, place) for place, name in enumerate(names, 1))
    return [_text(context, _put(made.this, given)) for given in rows]


def _given(context: BindContext, node: exp.Lambda, name: str, place: int) -> Mapping[str, exp.Expr]:
    """What the parameters of a lambda stand for: a name, and the place where it stands."""
    values = (exp.Literal.string(name), exp.Literal.number(place))
    if not 1 <= len(node.expressions) <= len(values):
        context.fail(node, f"a lambda in COLUMNS takes a name and its place, not {len(node.expressions)} parameters")
    return {key(parameter.name): value for parameter, value in zip(node.expressions, values, strict=False)}


def _put(node: exp.Expr, given: Mapping[str, exp.Expr]) -> exp.Expr:
    """What is computed, with literals in the place of parameters."""

    def put(each: exp.Expr) -> exp.Expr:
        is_name = isinstance(each, exp.Identifier) or (isinstance(each, exp.Column) and not each.table)
        value = given.get(key(each.name)) if is_name else None
        return each if value is None else value.copy()

    return node.transform(put)


_PARTS: dict[type[exp.Expr], Callable[[str, str], bool]] = {
    exp.StartsWith: str.startswith,
    exp.EndsWith: str.endswith,
    exp.Contains: str.__contains__,
}


def _holds(context: BindContext, node: exp.Expr) -> bool:
    """Whether a condition on literals holds. Refuses what is not known before there are rows."""
    node = node.unnest()
    if isinstance(node, exp.And):
        return _holds(context, node.this) and _holds(context, node.expression)
    if isinstance(node, exp.Or):
        return _holds(context, node.this) or _holds(context, node.expression)
    if isinstance(node, exp.Not):
        return not _holds(context, node.this)
    if isinstance(node, (*TESTS, *_PARTS)) and node.this.is_string and node.expression.is_string:
        if isinstance(node, TESTS):
            return named_like(context, node)(node.this.name)
        return _PARTS[type(node)](node.this.name, node.expression.name)
    found = folded(_binder(context).condition(node))
    if not isinstance(found, Literal):
        what = "this condition on names in COLUMNS cannot be computed ahead"
        context.refuse(node, f"{what}; write comparisons, LIKE or a regular expression, or {_INSTEAD}")
    return bool(found.value)


def _text(context: BindContext, node: exp.Expr) -> str:
    text = _computed(context, node)
    if not isinstance(text, str):
        context.refuse(node, f"this name in COLUMNS cannot be computed ahead; {_INSTEAD}")
    return text


def _computed(context: BindContext, node: exp.Expr) -> object:
    """The value of a text over literals; None if it has none, or it is not known before there are rows."""
    found = folded(_binder(context).bind(node).scalar)
    return found.value if isinstance(found, Literal) else None


def _binder(context: BindContext) -> Binder:
    return Binder(context.source, Scope(), HANDLERS, "COLUMNS")
