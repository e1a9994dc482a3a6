"""Aggregates that are expressions over others, as they are declared."""

from __future__ import annotations

from sqlglot import exp

from sql.aggregate_nodes import FUNCTIONS
from sql.bind.aggregates.calls import AggregateCall
from sql.bind.expressions.binder import Binder
from sql.bind.written import written_out
from sql.ir.aggregates import AGGREGATES, aggregate_of

IN_ORDER = frozenset(name for name in AGGREGATES if name.startswith("json_group_"))
"""Those in whose value rows stand one after the other."""


def expression_of(binder: Binder, call: AggregateCall) -> exp.Expr:
    """The expression that the call stands for: its FILTER and DISTINCT are those of all aggregates in it."""
    written = aggregate_of(call.function).written
    assert written is not None, "it is declared as one"
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
        if call.where is not None:
            filtered = exp.Filter(expression=exp.Where(this=call.where))
            if node is found:
                found = filtered
            else:
                node.replace(filtered)
            filtered.set("this", node)
    found.parent = call.node.parent
    return found


def spelt_out(tree: exp.Expr) -> None:
    """Put what calls stand for in whose value rows stand in order in their place, so that an order can be given."""
    for node in [n for n in tree.walk() if FUNCTIONS.get(type(n)) in IN_ORDER]:
        parameters, text = aggregate_of(FUNCTIONS[type(node)]).written or ((), "")
        args = [node.args[name] for name in ("this", "expression") if node.args.get(name) is not None]
        found = exp.Paren(this=written_out(text, parameters, args))
        spelt_out(found)
        node.replace(found)
