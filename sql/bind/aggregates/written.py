"""Aggregates that are expressions over others, as they are declared."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.sql.aggregate_nodes import FUNCTIONS
from ivm.sql.bind.aggregates.calls import AggregateCall, is_windowed
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.written import written_out
from ivm.sql.ir.aggregates import AGGREGATES, aggregate_of

IN_ORDER = frozenset(name for name in AGGREGATES if name.startswith("json_group_"))
"""Those in whose value rows stand one after the other."""
_SPELT_OUT = IN_ORDER | {name for name, declared in AGGREGATES.items() if declared.exact}


def expression_of(binder: Binder, call: AggregateCall) -> exp.Expr:
    """The expression that the call stands for: its FILTER and DISTINCT are those of all aggregates in it."""
    written = call.form
    assert written is not None, "it is declared as one"
    if len(call.args) > aggregate_of(call.function).most:
        _check_first(binder, call)
    if call.function in IN_ORDER and (call.distinct or call.where is not None or call.order):
        what = f"{call.function}() takes no DISTINCT, ORDER BY or FILTER, as in DuckDB"
        binder.refuse(call.node, f"{what}; write to_json(list(x ORDER BY y)), or string_agg(..) for an object")
    parameters, text = written
    found, arguments = written_out(text, parameters, call.args), frozenset(map(id, call.args))
    for node in [n for n in found.walk(prune=lambda n: id(n) in arguments) if type(n) in FUNCTIONS]:
        if id(node) in arguments:
            continue
        if call.distinct and not isinstance(node.this, exp.Distinct):
            node.set("this", exp.Distinct(expressions=[node.this]))
        if call.order and written == aggregate_of(call.function).decided:
            end_order(node, call.order)
        if call.where is not None and isinstance(node.parent, exp.Filter):
            node.parent.expression.set("this", exp.and_(node.parent.expression.this, call.where.copy()))
        elif call.where is not None:
            filtered = exp.Filter(expression=exp.Where(this=call.where))
            if node is found:
                found = filtered
            else:
                node.replace(filtered)
            filtered.set("this", node)
    found.parent = call.node.parent
    return found


def end_order(call: exp.Expr, terms: Sequence[exp.Expr], arg: str = "this") -> None:
    """Put the terms at the end of the ORDER BY in the parentheses of a call, which stands with the argument `arg`."""
    given = call.args[arg]
    before = given.expressions if isinstance(given, exp.Order) else []
    bare = given.this if isinstance(given, exp.Order) else given
    call.set(arg, exp.Order(this=bare, expressions=[*before, *terms]))


_MOST_FIRST = 1_000_000


def _check_first(binder: Binder, call: AggregateCall) -> None:
    what = f"{call.function}() of the first n"
    if call.function.startswith("arg_") and is_windowed(call.node):
        binder.refuse(call.node, f"{what} OVER is not maintained; join with the groups of a subquery")
    if call.distinct or call.order:
        binder.refuse(call.node, f"{what} takes no DISTINCT or ORDER BY; aggregate a subquery")
    count = call.args[-1]
    if not isinstance(count, exp.Literal) or not count.is_int or not 0 < int(count.name) < _MOST_FIRST:
        binder.refuse(count, f"{what} takes a number from 1 to {_MOST_FIRST - 1} as n; write it as a literal")


def spelt_out(tree: exp.Expr) -> None:
    """Put what calls stand for in their place: in whose value rows stand in order, so that an order can be given, and
    of which DuckDB's value is near to what they stand for alone.
    """
    for node in [n for n in tree.walk() if type(n) in FUNCTIONS]:
        name = FUNCTIONS[type(node)]
        is_first = name.startswith("arg_") and node.args.get("count") is not None
        form = aggregate_of(name).first if is_first else aggregate_of(name).written if name in _SPELT_OUT else None
        if form is None:
            continue
        args = [_bare(node, arg) for arg in ("this", "expression", "quantile", "count") if node.args.get(arg)]
        found, call = exp.Paren(this=written_out(form[1], form[0], args)), node
        if isinstance(call.parent, exp.Filter):
            call = call.parent
            _filter(found, call.expression)
        spelt_out(found)
        window = call.parent
        if isinstance(window, exp.Window) and call.arg_key == "this":
            _window(found, window, node)
            call = window
        call.replace(found)


def _bare(node: exp.Expr, arg: str) -> exp.Expr:
    """An argument without DISTINCT, which means nothing to what is spelt out."""
    given: exp.Expr = node.args[arg]
    return given.expressions[0] if isinstance(given, exp.Distinct) else given


def _aggregates(tree: exp.Expr) -> list[exp.Expr]:
    """Those in a tree, with their FILTER."""
    found = [node for node in tree.walk(prune=lambda node: type(node) in FUNCTIONS) if type(node) in FUNCTIONS]
    return [node.parent if isinstance(node.parent, exp.Filter) else node for node in found]


def _filter(tree: exp.Expr, condition: exp.Expr) -> None:
    """Let the aggregates in a tree take rows that satisfy a condition, beside those that they have."""
    for node in _aggregates(tree):
        if isinstance(node, exp.Filter):
            node.expression.set("this", exp.and_(node.expression.this, condition.this.copy()))
        else:
            node.replace(exp.Filter(this=node.copy(), expression=condition.copy()))


def _window(tree: exp.Expr, window: exp.Window, call: exp.Expr) -> None:
    """Let the aggregates in a tree be those OVER a window, as the call is that the tree stands for."""
    for node in _aggregates(tree):
        for each in node.find_all(*FUNCTIONS):
            each.meta.update(call.meta)
        over = window.copy()
        over.set("this", node.copy())
        node.replace(over)
