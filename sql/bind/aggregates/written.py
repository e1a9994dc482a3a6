"""Aggregates that are expressions over others, as they are declared."""

from __future__ import annotations

from sqlglot import exp

from sql.aggregate_nodes import FUNCTIONS
from sql.bind.aggregates.calls import AggregateCall, is_windowed
from sql.bind.expressions.binder import Binder
from sql.bind.written import written_out
from sql.ir.aggregates import AGGREGATES, aggregate_of

IN_ORDER = frozenset(name for name in AGGREGATES if name.startswith("json_group_"))
"""Those in whose value rows stand one after the other."""


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
        if call.distinct:
            node.set("this", exp.Distinct(expressions=[node.this]))
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
    """Put what calls stand for in whose value rows stand in order in their place, so that an order can be given."""
    for node in [n for n in tree.walk() if type(n) in FUNCTIONS]:
        name = FUNCTIONS[type(node)]
        is_first = name.startswith("arg_") and node.args.get("count") is not None
        form = aggregate_of(name).first if is_first else aggregate_of(name).written if name in IN_ORDER else None
        if form is None:
            continue
        args = [node.args[arg] for arg in ("this", "expression", "count") if node.args.get(arg) is not None]
        found, around = exp.Paren(this=written_out(form[1], form[0], args)), node.parent
        if isinstance(around, exp.Filter):  # together with that of the text
            filtered = found.find(exp.Filter)
            assert filtered is not None, "those of other forms are refused"
            filtered.expression.set("this", exp.and_(filtered.expression.this, around.expression.this))
        spelt_out(found)
        (around if isinstance(around, exp.Filter) else node).replace(found)
