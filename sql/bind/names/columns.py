"""The names that DuckDB gives to the columns of a SELECT list that have no alias."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count

from sqlglot import exp

from ivm.catalog.keywords import quoted_if_needed
from ivm.catalog.names import as_literal, key
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.names.intervals import interval_name
from ivm.sql.bind.names.queries import query_name
from ivm.sql.bind.names.scope import Scope
from ivm.sql.bind.names.types import type_name
from ivm.sql.bind.windows.specs import resolved, term_name
from ivm.sql.chains import CHAINED
from ivm.sql.signs import SIGN, CosineDistance, Plus
from ivm.sql.sql_text import SqlText, offset_of, text_of
from ivm.sql.words_kept import CALLED, PART

_FORMS: dict[type[exp.Expr], str] = {
    **{
        kind: f"({{this}} {symbol} {{expression}})"
        for kind, symbol in (
            (exp.Add, "+"), (exp.Sub, "-"), (exp.Mul, "*"), (exp.Div, "/"), (exp.IntDiv, "//"), (exp.Mod, "%"),
            (exp.EQ, "="), (exp.NEQ, "!="), (exp.LT, "<"), (exp.LTE, "<="), (exp.GT, ">"),
            (exp.GTE, ">="), (exp.DPipe, "||"), (exp.BitwiseAnd, "&"),
            (exp.BitwiseOr, "|"), (exp.BitwiseLeftShift, "<<"), (exp.BitwiseRightShift, ">>"),
            (exp.ArrayOverlaps, "&&"), (exp.ArrayContainsAll, "@>"), (exp.ArrayContainedBy, "<@"),
            (exp.NullSafeEQ, "IS NOT DISTINCT FROM"), (exp.NullSafeNEQ, "IS DISTINCT FROM"), (exp.Glob, "~~~"),
            (exp.StartsWith, "^@"), (exp.Distance, "<->"), (CosineDistance, "<=>"),
        )
    },
    exp.JSONExtract: "({this} -> {expression})",
    exp.JSONExtractScalar: "({this} ->> {expression})",
    exp.Between: "({this} BETWEEN {low} AND {high})",
    exp.Abs: "(@({this}))",
    Plus: "(+({this}))",
    exp.BitwiseNot: "(~({this}))",
    exp.In: "({this} IN ({expressions}))",
    exp.Paren: "{this}",
    exp.RegexpLike: "regexp_matches({this}, {expression})",
    exp.RegexpILike: "regexp_matches({this}, {expression}, 'i')",
    exp.SimilarTo: "regexp_full_match({this}, {expression})",
    exp.Tuple: '"row"({expressions})',
}  # fmt: skip
"""What is written without a name of its own, which has a place in the text: mod(x, y) has one, x % y has not."""

_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
}  # fmt: skip
_ARRAY_OF = "(SELECT CASE  WHEN ((array_agg(#1) IS NULL)) THEN (list_value()) ELSE array_agg(#1) END FROM ({}))"
"""What DuckDB makes of ARRAY(SELECT ..)."""
_TRIMMED = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_JOINED: dict[type[exp.Expr], str] = {exp.And: "AND", exp.Or: "OR"}
_LIKE: dict[type[exp.Expr], str] = {exp.Like: "~~", exp.ILike: "~~*"}


def output_name(context: BindContext, scope: Scope, item: exp.Expr) -> str:
    """What DuckDB calls an item of the SELECT list: its alias, the name of a column as that was declared, or the
    expression as DuckDB writes it.
    """
    if isinstance(item, exp.Alias):
        return item.alias
    node = item.unnest()
    if _is_path(node):
        return node.expression.name
    if not isinstance(node, exp.Column):
        return column_name(node, context.source)
    found = scope.find(node.name, node.table)
    return found[0].name if len(found) == 1 and scope.has(found[0].table) else node.name


def _is_path(node: exp.Expr) -> bool:
    """Whether this is the field of a field .. of a column, of more parts than a column's name may have."""
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        node = node.this
        if isinstance(node, exp.Column):
            return True
    return False


def column_name(node: exp.Expr, source: SqlText) -> str:
    """An expression as DuckDB writes it. Rarer expressions are called by sqlglot's text of them."""
    if isinstance(node, exp.In) and node.args.get("field") is not None:
        return f"contains({_list([node.args['field'], node.this], source)})"
    if isinstance(node, exp.In) and SIGN in node.meta:
        return f"contains(list_value({_list(node.expressions, source)}), {column_name(node.this, source)})"
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return f"({column_name(node.this, source)} = ANY({_query(node.args['query'], source)}))"
    if isinstance(node, exp.Connector) and type(node) in _JOINED:
        word = _JOINED[type(node)]
        return f"({f' {word} '.join(column_name(each, source) for each in _operands(node, type(node)))})"
    if isinstance(node, exp.Order) and node.this is not None:
        return f"{column_name(node.this, source)} {_order(node, source)}"
    if isinstance(node, exp.Query):
        return f"({_query(node, source)})"
    if isinstance(node, exp.Array) and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
        return _ARRAY_OF.format(_query(node.expressions[0], source))
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
        kind = "quantile_cont" if isinstance(node.this, exp.PercentileCont) else "quantile_disc"
        return f"{kind}({column_name(node.this.this, source)} {_order(node.expression, source)})"
    if isinstance(node, exp.Exists) and isinstance(node.this.unnest(), exp.Query):
        return f"EXISTS({_query(node.this, source)})"
    bound = node.args.get("expression")
    if isinstance(bound, exp.All) and type(node) in _OPPOSITE:
        opposite = _FORMS[_OPPOSITE[type(node)]].format(
            this=column_name(node.this, source), expression=_any(bound, source)
        )
        return f"(NOT {opposite})"
    form = _FORMS.get(type(node))
    if form is not None and "start" not in node.meta and not node.args.get("query"):
        written = {arg: _argument(value, source) for arg, value in node.args.items()}
        return form.format_map(defaultdict(str, written))  # what is missing is refused where it is bound
    if isinstance(node, exp.Pow) and SIGN in node.meta:
        return f"({column_name(node.this, source)} {node.meta[SIGN]} {column_name(node.expression, source)})"
    if isinstance(node, exp.Column):
        return ".".join("*" if isinstance(part, exp.Star) else quoted_if_needed(part.name) for part in node.parts)
    if isinstance(node, exp.Literal):
        return as_literal(node.name) if node.is_string else node.name
    if isinstance(node, exp.Neg):
        inner = column_name(node.this, source)
        return f"-{inner}" if isinstance(node.this.unnest(), exp.Literal) else f"(-({inner}))"
    if isinstance(node, exp.Not):
        return _negation(node, source)
    if isinstance(node, exp.Case):
        return _case(node, source)
    if isinstance(node, exp.Count) and (node.this is None or isinstance(node.this, exp.Star)):
        return "count_star()"
    if isinstance(node, exp.Coalesce):
        return f"COALESCE({_list([node.this, *node.expressions], source)})"
    if isinstance(node, exp.Escape):
        kind = "ilike_escape" if isinstance(node.this, exp.ILike) else "like_escape"
        name = f"{kind}({_list([node.this.this, node.this.expression, node.expression], source)})"
        return f"(NOT {name})" if node.this.args.get("negate") else name
    if isinstance(node, exp.BitwiseXor):
        return f"xor({_list([node.this, node.expression], source)})"
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
        return column_name(node.this, source)
    if isinstance(node, exp.Mod) and "start" in node.meta:
        return f"mod({_list([node.this, node.expression], source)})"
    if isinstance(node, exp.ByteString | exp.HexString):
        return f"{'X' if isinstance(node, exp.HexString) else ''}'{node.name}'"
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
        return _truth_test(node, "IS NOT DISTINCT FROM", source)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return f"({column_name(node.this, source)} IS NULL)"
    if isinstance(node, exp.Extract):
        return f"date_part('{node.meta.get(PART, node.this.name)}', {column_name(node.expression, source)})"
    if isinstance(node, exp.AtTimeZone):
        return f"timezone({_list([node.args['zone'], node.this], source)})"
    if isinstance(node, exp.Interval):
        return interval_name(node, lambda each: column_name(each, source)) or text_of(node)
    if isinstance(node, exp.Window):
        return _window(node, source)
    if isinstance(node, exp.Collate):
        return f"{column_name(node.this, source)} COLLATE {text_of(node.expression)}"
    if isinstance(node, exp.Filter):
        return f"{column_name(node.this, source)} FILTER (WHERE {column_name(node.expression.this, source)})"
    if isinstance(node, exp.Cast):
        word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        return f"{word}({column_name(node.this, source)} AS {type_name(node.to)})"
    if isinstance(node, exp.Date) and node.this is not None:
        return f"CAST({column_name(node.this, source)} AS DATE)"
    if type(node) in _LIKE:
        sign = ("!" if node.args.get("negate") else "") + _LIKE[type(node)]
        return f"({column_name(node.this, source)} {sign} {column_name(node.expression, source)})"
    if isinstance(node, exp.If):
        return f'"if"({_list([node.this, node.args["true"], *filter(None, [node.args.get("false")])], source)})'
    if type(node) in _NESTED and "start" not in node.meta:
        return _NESTED[type(node)](node, source)
    if isinstance(node, exp.Func):
        return _function(node, source)
    return text_of(node)


def _array(node: exp.Expr, source: SqlText) -> str:
    if not any(isinstance(each, exp.Comprehension) for each in node.expressions):
        return f"list_value({_list(node.expressions, source)})"
    (found,) = node.expressions
    names = [found.expression, *filter(None, [found.args.get("position")])]
    name, condition = ", ".join(quoted_if_needed(each.name) for each in names), found.args.get("condition")
    made, of = column_name(found.this, source), column_name(found.args["iterator"], source)
    if condition is None:
        return f"list_apply({of}, (lambda {name}: {made}))"
    pair = f'(lambda {name}: struct_pack("filter" := {column_name(condition, source)}, result := {made}))'
    first = f"list_filter(list_apply({of}, {pair}), (lambda elem: struct_extract(elem, 'filter')))"
    return f"list_apply({first}, (lambda elem: struct_extract(elem, 'result')))"


def _struct(node: exp.Expr, source: SqlText) -> str:
    fields = (f"{quoted_if_needed(each.name)} := {column_name(each.expression, source)}" for each in node.expressions)
    return f"struct_pack({', '.join(fields)})"


def _map(node: exp.Expr, source: SqlText) -> str:
    pairs = node.this.expressions
    keys, values = _list([each.this for each in pairs], source), _list([each.expression for each in pairs], source)
    return f'"map"(list_value({keys}), list_value({values}))'


def _lambda(node: exp.Expr, source: SqlText) -> str:
    parameters = ", ".join(quoted_if_needed(each.name) for each in node.expressions)
    return f"(lambda {parameters}: {column_name(node.this, source)})"


def _bracket(node: exp.Expr, source: SqlText) -> str:
    (place,) = node.expressions if len(node.expressions) == 1 else (None,)
    if isinstance(place, exp.Slice):
        parts = [place.args.get(arg) for arg in ("this", "expression", "step")]
        written = [column_name(each, source) if each is not None else "" for each in parts]
        shown = ":".join(written[: 3 if parts[2] is not None else 2])
    else:
        shown = _list(node.expressions, source)
    return f"{column_name(node.this, source)}[{shown}]"


def _dot(node: exp.Expr, source: SqlText) -> str:
    return f"({column_name(node.this, source)}).{quoted_if_needed(node.expression.name)}"


def _query(node: exp.Expr, source: SqlText) -> str:
    return query_name(node, lambda each: column_name(each, source))


def _order(node: exp.Expr, source: SqlText) -> str:
    terms = (term_name(each, lambda of: column_name(of, source)) for each in node.expressions)
    return f"ORDER BY {', '.join(terms)}"


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """What AND or OR connects, however that is put in parentheses."""
    for each in (node.this, node.expression):
        inner = each.unnest()
        if type(inner) is kind:
            yield from _operands(inner, kind)
        else:
            yield each


def _any(node: exp.Expr, source: SqlText) -> str:
    """What is compared with: a subquery, or the list of which DuckDB makes one."""
    if isinstance(node.this.unnest(), exp.Query):
        return f"ANY({_query(node.this, source)})"
    return f"ANY(SELECT unnest({column_name(node.this.unnest(), source)}))"


_NESTED: dict[type[exp.Expr], Callable[[exp.Expr, SqlText], str]] = {
    exp.Any: _any,
    exp.Array: _array,
    exp.Boolean: lambda node, source: str(bool(node.this)).lower(),
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Identifier: lambda node, source: quoted_if_needed(node.name),
    exp.Lambda: _lambda,
    exp.PropertyEQ: lambda node, source: f"{quoted_if_needed(node.name)} := {column_name(node.expression, source)}",
    exp.Struct: _struct,
    exp.ToMap: _map,
}
"""What is made of parts, and taken apart."""


_QUOTED_CALL = re.compile(r'^"(\w+)"\(')
"""A function's name, which before OVER DuckDB does not quote."""
_ORDERED_CALL = re.compile(r"^\w+\(ORDER BY ")
"""A call of no arguments with ORDER BY, before which DuckDB has a space."""


def _window(node: exp.Window, source: SqlText) -> str:
    spec, call = resolved(node), node.this
    over = text_of(node) if spec is None else spec.name(lambda each: column_name(each, source))
    if isinstance(call, exp.IgnoreNulls):
        return f"{column_name(call.this, source)[:-1]} IGNORE NULLS) OVER {over}"
    if isinstance(call, exp.RespectNulls):
        call = call.this
    name = _QUOTED_CALL.sub(r"\1(", column_name(call, source))
    if isinstance(call, exp.First | exp.Last) and name.startswith(f"{call.key}("):
        name = name.replace("(", "_value(", 1)
    name = name.replace("(ORDER BY ", "( ORDER BY ", 1) if _ORDERED_CALL.match(name) else name
    return f"{'count()' if name == 'count_star()' else name} OVER {over}"


def sought_names(names: Sequence[str], written: Sequence[bool]) -> tuple[str, ...]:
    """The names by which ORDER BY finds outputs, "" for one that it does not find.

    Of outputs of one name, in any case, that is the last whose alias was `written`, or else the first.
    """
    found: dict[str, int] = {}
    for i, name in enumerate(names):
        if written[i] or key(name) not in found:
            found[key(name)] = i
    return tuple(name if found[key(name)] == i else "" for i, name in enumerate(names))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names with _1, _2, .. where the name, in any case, stood before, as DuckDB numbers them in a subquery."""
    taken: set[str] = set()
    unique = []
    for name in names:
        chosen = next(each for each in chain([name], (f"{name}_{i}" for i in count(1))) if key(each) not in taken)
        taken.add(key(chosen))
        unique.append(chosen)
    return tuple(unique)


def _negation(node: exp.Not, source: SqlText) -> str:
    is_test = isinstance(node.this, exp.Is) and SIGN not in node.meta
    if is_test and isinstance(node.this.expression, exp.Null):
        return f"({column_name(node.this.this, source)} IS NOT NULL)"
    if is_test and isinstance(node.this.expression, exp.Boolean):
        return _truth_test(node.this, "IS DISTINCT FROM", source)
    return f"(NOT {column_name(node.this, source)})"


def _truth_test(node: exp.Is, sign: str, source: SqlText) -> str:
    word = "true" if node.expression.this else "false"
    return f"(CAST({column_name(node.this, source)} AS BOOLEAN) {sign} {word})"


def _case(node: exp.Case, source: SqlText) -> str:
    parts = ["CASE "]
    for branch in node.args["ifs"]:
        condition = column_name(branch.this, source)
        if node.this:
            condition = f"({column_name(node.this, source)} = {condition})"
        parts.append(f" WHEN ({condition}) THEN ({column_name(branch.args['true'], source)})")
    default = node.args.get("default")
    parts.append(f" ELSE {column_name(default, source) if default else 'NULL'} END")
    return "".join(parts)


def _function(node: exp.Func, source: SqlText) -> str:
    if isinstance(node, exp.Trim) and node.args.get("position") in _TRIMMED:
        return f"{_TRIMMED[node.args['position']]}({_list(_arguments(node), source)})"
    start, end = node.meta.get("start"), node.meta.get("end")
    if start is None or end is None:
        name = node.name if isinstance(node, exp.Anonymous) else node.meta.get(CALLED) or node.sql_name()
        return _spelled(key(name), node, source)
    name = key(source.text[start : end + 1].strip('"'))
    unit = ""
    if isinstance(node, exp.TimestampTrunc | exp.DateDiff):
        unit = f"'{node.text('unit').lower()}', "
    if CHAINED in node.meta:
        first, *rest = _arguments(node)
        return f"{column_name(first, source)}.{quoted_if_needed(name)}({_list(rest, source)})"
    return f"{quoted_if_needed(name)}({unit}{_list(_arguments(node), source)})"


def _spelled(name: str, node: exp.Func, source: SqlText) -> str:
    """A call that sqlglot keeps in a form of its own."""
    if isinstance(node, exp.CurrentDate | exp.CurrentTimestamp | exp.Localtimestamp) and name != "now":
        return name
    if isinstance(node, exp.GroupConcat) and isinstance(node.this, exp.Order):
        bare = [node.this.this, *filter(None, [node.args.get("separator")])]
        return f"{name}({_list(bare, source)} {_order(node.this, source)})"
    arguments = _arguments(node)
    if isinstance(node, exp.StrPosition) and name == "position":
        arguments = [node.this, node.args["substr"]]
    return f"{quoted_if_needed(name)}({_list(arguments, source)})"


def _arguments(node: exp.Func) -> list[exp.Expr]:
    """The arguments that are written, in the order of the text: sqlglot orders some otherwise, and adds some."""
    if isinstance(node, exp.Trim):  # the other way round in trim(x from y)
        return [node.this, *filter(None, [node.expression])]
    arguments: list[exp.Expr] = []
    for arg, value in node.args.items():
        values = value if isinstance(value, list) else [value]
        if arg != "unit":
            arguments.extend(item for item in values if isinstance(item, exp.Expr) and not _made_up(item))
    places = [offset_of(item) for item in arguments]
    if None in places:
        return arguments
    return [item for _, item in sorted(zip(places, arguments, strict=True), key=lambda pair: pair[0] or 0)]


def _made_up(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and "start" not in node.meta and node.name in ("0", "2", "3", "6", "10", "256")


def _argument(value: object, source: SqlText) -> str:
    nodes = value if isinstance(value, list) else [value]
    return _list([each for each in nodes if isinstance(each, exp.Expr)], source)


def _list(nodes: Sequence[exp.Expr], source: SqlText) -> str:
    return ", ".join(column_name(node, source) for node in nodes)
