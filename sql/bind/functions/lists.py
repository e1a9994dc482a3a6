"""Lists: [a, b], subscripts and slices, x IN list, x = ANY(list)."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    TIMESTAMP,
    UBIGINT,
    VARCHAR,
    Kind,
    list_of,
    map_of,
    struct_of,
)
from ivm.sql.bind.expressions import subqueries
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.comparisons import FUNCTIONS, compare, unified
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed, computed_of, constant_text
from ivm.sql.bind.functions.fields import bind_map_value
from ivm.sql.bind.functions.json import bind_key as bind_json_key
from ivm.sql.bind.functions.lambdas import bind_comprehension
from ivm.sql.bind.functions.signatures import apply
from ivm.sql.bind.functions.structs import bind_key
from ivm.sql.bind.functions.texts import bind_text_bracket
from ivm.sql.bind.series import bind_series_list
from ivm.sql.ir.conditions import coalesced, comparison, is_null, junction, negation
from ivm.sql.ir.functions import NEGATED
from ivm.sql.ir.functions.nested import PLACE
from ivm.sql.ir.scalar import FALSE, Call, Literal, Scalar


def bind_list(binder: Binder, node: exp.Expr) -> Operand:
    """[a, b], list_value(a, b), and [f(x) FOR x IN list IF condition]."""
    items = node.expressions
    if len(items) == 1 and isinstance(items[0], exp.Comprehension):
        return bind_comprehension(binder, items[0])
    if _is_of_query(node):
        return subqueries.bind_array(binder, node)
    scalars, element = unified(binder, node, "a list", [binder.bind(item) for item in items]) if items else ((), NULL)
    return Operand(node, Call("list_value", scalars, list_of(element), nullable=False))


def _is_of_query(node: exp.Expr) -> bool:
    """Whether this is ARRAY(SELECT ...)."""
    one = node.expressions[0] if isinstance(node, exp.Array) and len(node.expressions) == 1 else None
    return isinstance(one, exp.Query | exp.Values) and not node.args.get("value_constructor")


def bind_bracket(binder: Binder, node: exp.Expr) -> Operand:
    """x[place] of a list, map or struct, of JSON and of a text."""
    subject = binder.bind(node.this)
    if subject.type.kind is Kind.JSON and len(node.expressions) == 1 and not isinstance(node.expressions[0], exp.Slice):
        return bind_json_key(binder, node, subject, node.expressions[0])
    if not subject.type.is_nested:
        return bind_text_bracket(binder, node)
    if len(node.expressions) != 1:
        binder.refuse(node, "x[...] takes one position or a range, such as x[1:3]")
    place = node.expressions[0]
    if subject.type.kind is Kind.STRUCT:
        return bind_key(binder, node, subject, place)
    if subject.type.kind is Kind.MAP:
        return bind_map_value(binder, node, subject, place)
    if isinstance(place, exp.Slice):
        return _slice(binder, node, binder.as_list(subject), place)
    return apply(binder, node, "list_extract", [node.this, place])


def _slice(binder: Binder, node: exp.Expr, subject: Operand, place: exp.Slice) -> Operand:
    """list[first:last:step]; what is left out are its ends."""
    first, last, step = (place.args.get(arg) for arg in ("this", "expression", "step"))
    ends = [
        _place(binder, each) if each is not None else Literal(default, BIGINT) for each, default in _ends(first, last)
    ]
    args = (subject.scalar, *ends) if step is None else (subject.scalar, *ends, _place(binder, step))
    return Operand(node, Call("list_slice of a list", args, subject.type))


def _ends(first: exp.Expr | None, last: exp.Expr | None) -> tuple[tuple[exp.Expr | None, int], ...]:
    return (first, 1), (last, -1)


def _place(binder: Binder, node: exp.Expr) -> Scalar:
    operand = binder.bind(node)
    if operand.type != NULL and not operand.type.is_integer:
        binder.mismatch(node, f"a position in a list is an integer, not {operand.type}; cast it to BIGINT")
    return binder.cast(operand, BIGINT)


def bind_any(binder: Binder, node: exp.Expr, function: str, value: exp.Expr, of: exp.Expr) -> Operand:
    """X = ANY(list), and with other comparisons: three-valued, and FALSE of no list and of one without elements.

    Whether it is TRUE follows from the least and the greatest element; if not, a NULL leaves it open.
    """
    one, many = binder.bind(value), binder.as_list(binder.bind(of))
    if many.type.kind is not Kind.LIST:
        binder.mismatch(of, f"ANY and ALL take a list or a subquery, not {many.type}; write IN (...)")
    found = coalesced(_holds_for_any(binder, node, function, one, many, of), FALSE)
    count = _of_list("list_length", many.scalar)
    some_null = comparison("lt", _of_list("list_count of a list", many.scalar), count)
    none_there = junction("and", [is_null(one.scalar), comparison("gt", count, Literal(0, BIGINT))])
    is_open = coalesced(junction("or", [none_there, some_null]), FALSE)
    rest = Call("case", (is_open, Literal(None, BOOLEAN), FALSE), BOOLEAN)
    return Operand(node, junction("or", [found, rest]))


def _holds_for_any(binder: Binder, node: exp.Expr, function: str, one: Operand, many: Operand, of: exp.Expr) -> Scalar:
    if function == "eq":
        return apply(binder, node, "list_contains", [of, one.node]).scalar
    assert many.type.element is not None, "a list has elements"
    least, most = (
        Operand(of, Call(f"list_{each} of a list", (many.scalar,), many.type.element)) for each in ("min", "max")
    )
    if function == "ne":
        return junction("or", [compare(binder, node, "ne", one, each) for each in (least, most)])
    return compare(binder, node, function, one, most if function in ("lt", "le") else least)


def _of_list(function: str, scalar: Scalar) -> Scalar:
    return Call(function, (scalar,), BIGINT)


def bind_aggregate_of(binder: Binder, node: exp.Expr, args: list[exp.Expr]) -> Operand:
    """LIST_AGGREGATE(list, 'name'), and of a histogram with its bins."""
    if len(args) == 3 and args[1].is_string and args[1].name.lower() in ("histogram", "histogram_exact"):
        return _histogram(binder, node, args)
    if len(args) == 3 and args[1].is_string and args[1].name.lower() in _WITH_ARGUMENT:
        return _with_argument(binder, node, args)
    if len(args) != 2 or not args[1].is_string:
        binder.refuse(node, "list_aggregate() takes a list and the name of an aggregate as a text, such as 'sum'")
    return apply(binder, node, f"list_{args[1].name.lower()}", [args[0]])


_TEXTS = ("string_agg", "group_concat", "listagg")
_QUANTILES = ("quantile", "quantile_disc", "quantile_cont")
_WITH_ARGUMENT = (*_TEXTS, *_QUANTILES, "min", "max")


def _with_argument(binder: Binder, node: exp.Expr, args: list[exp.Expr]) -> Operand:
    """The text of the elements with a separator, quantiles of them, or the n least or greatest, by DuckDB."""
    name, values = args[1].name.lower(), binder.as_list(binder.bind(args[0]))
    element = values.type.element
    if values.type.kind is not Kind.LIST or element is None:
        binder.mismatch(args[0], f"list_aggregate() takes a list, not {values.type}")
    if name in _TEXTS:
        element = VARCHAR
    elif name == "quantile_cont":
        element = DOUBLE if element.is_integer else TIMESTAMP if element == DATE else element
    is_list = name in ("min", "max") or isinstance(args[2], exp.Array)
    text = f"list_aggregate({PLACE.format(1)}, '{name}', {constant_text(binder, args[2], 'arguments of aggregates')})"
    return computed_of(node, text, [values.scalar], list_of(element) if is_list else element)


def _histogram(binder: Binder, node: exp.Expr, args: list[exp.Expr]) -> Operand:
    """How many elements lie in each bin, by its upper end; of histogram_exact, how many are equal to it."""
    values, bins = (binder.as_list(binder.bind(each)) for each in (args[0], args[2]))
    element = values.type.element
    if values.type.kind is not Kind.LIST or bins.type.kind is not Kind.LIST or element is None:
        binder.mismatch(args[2], f"a histogram with bins takes a list of them, not {bins.type}")
    binder.cast(bins, values.type)  # which raises where there is no such cast
    written = f"CAST({constant_text(binder, args[2], 'bins of a histogram')} AS {values.type})"
    text = f"list_aggregate({PLACE.format(1)}, '{args[1].name.lower()}', {written})"
    return computed_of(node, text, [values.scalar], map_of(element, UBIGINT))


def bind_zip(binder: Binder, node: exp.Expr) -> Operand:
    """LIST_ZIP(list, list, .., [truncate]): rows of the elements at each place."""
    operands = [binder.as_list(binder.bind(arg)) for arg in node.expressions]
    cut = [operands.pop()] if operands and operands[-1].type == BOOLEAN else []
    wrong = next((each for each in operands if each.type.kind is not Kind.LIST), None)
    if wrong is not None or not operands:
        given = "nothing" if wrong is None else str(wrong.type)
        binder.mismatch(node, f"list_zip() takes lists, then perhaps whether to cut them at the shortest, not {given}")
    row = struct_of(("", each.type.element or NULL) for each in operands)
    return computed(node, "list_zip", [each.scalar for each in (*operands, *cut)], list_of(row))


def bind_series(binder: Binder, node: exp.Expr) -> Operand:
    """RANGE(..) and GENERATE_SERIES(..) as a value, which is a list."""
    assert isinstance(node, exp.GenerateSeries), "by its kind"
    return Operand(node, bind_series_list(binder, node))


def _or_of_list(otherwise: Handler) -> Handler:
    """The handler of a comparison, or of IN, that may be with a list."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            return apply(binder, node, "contains", [node.args["field"], node.this])
        bound = node.args.get("expression")
        of = bound.this.unnest() if isinstance(bound, exp.Any | exp.All) else None
        function = FUNCTIONS.get(type(node))
        if of is None or isinstance(of, exp.Query | exp.Values) or function not in NEGATED:
            return otherwise(binder, node)
        if _is_of_query(of):
            binder.refuse(
                of, "ANY and ALL of ARRAY(SELECT ...) are not supported; leave ARRAY out: x = ANY (SELECT ..)"
            )
        if isinstance(bound, exp.Any):
            return bind_any(binder, node, function, node.this, of)
        return Operand(node, negation(bind_any(binder, node, NEGATED[function], node.this, of).scalar))

    return bind


def _of_two(name: str) -> Handler:
    """An operator that is a function of two lists."""
    return lambda binder, node: apply(binder, node, name, [node.this, node.expression])


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.ArrayOverlaps: _of_two("list_has_any"),
    exp.ArrayContainsAll: _of_two("list_has_all"),
    exp.ArrayContainedBy: lambda binder, node: apply(binder, node, "list_has_all", [node.expression, node.this]),
    exp.Array: bind_list,
    exp.Bracket: bind_bracket,
    exp.GenerateSeries: bind_series,
    **{kind: _or_of_list(subqueries.HANDLERS[kind]) for kind in (*FUNCTIONS, exp.In)},
}
