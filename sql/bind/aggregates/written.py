"""Aggregates that are expressions over others, as they are declared."""

from __future__ import annotations

from sqlglot import exp

from sql.aggregate_nodes import FUNCTIONS
from sql.bind.aggregates.calls import AggregateCall
from sql.bind.written import written_out
from sql.ir.aggregates import aggregate_of


def expression_of(call: AggregateCall) -> exp.Expr:
    """The expression that the call stands for: its FILTER and DISTINCT are those of all aggregates in it."""
    written = aggregate_of(call.function).written
    assert written is not None, "it is declared as one"
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
