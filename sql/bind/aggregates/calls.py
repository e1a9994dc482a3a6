"""How aggregates are written: one plain form of the many that the parser gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ivm.sql.aggregate_nodes import FUNCTIONS
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.ir.aggregates import aggregate_of
from ivm.sql.sql_text import text_of

AGGREGATES = tuple(FUNCTIONS)
"""The kinds of nodes that are aggregates."""
IS_COLLATED = "ivm_collated"
"""Noted of an argument that is a text with a collation."""
WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls)
"""What may stand around one."""


def is_windowed(node: exp.Expr) -> bool:
    """Whether an aggregate is one OVER a window."""
    above = node.parent
    while isinstance(above, (*WRAPPERS, exp.RespectNulls)):
        above = above.parent
    return isinstance(above, exp.Window)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate as written: `args` without DISTINCT and ORDER BY, which stand beside them."""

    node: exp.Expr
    function: str
    args: tuple[exp.Expr, ...]
    distinct: bool = False
    order: tuple[exp.Ordered, ...] = ()
    where: exp.Expr | None = None
    within: exp.Ordered | None = None  # the term of WITHIN GROUP (ORDER BY ...)

    @property
    def written(self) -> exp.Expr:
        """The node of the function itself, without FILTER and the like around it."""
        node = self.node
        while isinstance(node, WRAPPERS):
            node = node.this
        return node

    @property
    def form(self) -> tuple[tuple[str, ...], str] | None:
        """The parameters and the text of the expression over other aggregates that it stands for; None if it is one."""
        declared = aggregate_of(self.function)
        if len(self.args) > declared.most:
            return declared.first
        return declared.decided if self.order and declared.decided is not None else declared.written

    @property
    def is_star(self) -> bool:
        """Whether this is count(*) or count()."""
        return self.function == "count" and (not self.args or isinstance(self.args[0], exp.Star))


def read_call(binder: Binder, node: exp.Expr, within: bool = False) -> AggregateCall:
    """The aggregate that `node` writes; UnsupportedError where it is written in a way that is not maintained.

    What stands `within` a group has its argument in ORDER BY.
    """
    if isinstance(node, exp.Filter):
        return replace(read_call(binder, node.this), node=node, where=node.expression.this)
    if isinstance(node, exp.WithinGroup):
        return _within_group(binder, node)
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
        return replace(read_call(binder, node.this), node=node)
    function = FUNCTIONS.get(type(node))
    if function is None:
        binder.refuse(node, f"{text_of(node)} is not maintained; leave the options of the aggregate out")
    return _plain(binder, node, function, within)


def _plain(binder: Binder, node: exp.Expr, function: str, within: bool) -> AggregateCall:
    args: list[exp.Expr] = []
    order: list[exp.Ordered] = []
    distinct = False
    for value in _values(node):
        inner = value
        if isinstance(inner, exp.Order):
            order = list(inner.expressions)
            inner = inner.this
        if isinstance(inner, exp.Distinct):
            distinct = True
            args.extend(inner.expressions)
        elif inner is not None:
            args.append(inner)
    call = AggregateCall(node, function, tuple(args), distinct, tuple(order))
    if not within:
        _check_arity(binder, call)
    return call


def _values(node: exp.Expr) -> Sequence[exp.Expr]:
    values: list[exp.Expr] = []
    for name in ("this", "expression", "quantile", "separator", "count"):
        value = node.args.get(name)
        if isinstance(value, exp.Expr):
            values.append(value)
    values.extend(node.args.get("expressions") or ())
    return values


def _check_arity(binder: Binder, call: AggregateCall) -> None:
    function, given = call.function, len(call.args)
    declared = aggregate_of(function)
    least, most = declared.least, declared.most
    if least <= given <= most or (declared.first is not None and given == most + 1):
        return
    wanted = "one" if most == 1 else "two" if least == 2 else "one or two"
    binder.refuse(call.node, f"{function}() of {given or 'no'} arguments is not supported; give it {wanted}")


def _within_group(binder: Binder, node: exp.WithinGroup) -> AggregateCall:
    """percentile_cont(0.5) WITHIN GROUP (ORDER BY x) is quantile_cont(x, 0.5); mode() likewise."""
    call = read_call(binder, node.this, within=True)
    order = tuple(node.expression.expressions)
    what = f"{call.function}() WITHIN GROUP is not supported"
    if call.function not in ("quantile_cont", "quantile_disc", "mode") or len(order) != 1:
        binder.refuse(node, f"{what}; percentile_cont, percentile_disc and mode are, with one ORDER BY expression")
    if len(call.args) != (call.function != "mode") or call.order or call.distinct:
        binder.refuse(node, f"{what} with these arguments; write {call.function}({_FRACTION[call.function]}) before it")
    decides = call.function == "mode" and bool(order[0].args.get("desc"))
    return replace(
        call, node=node, args=(order[0].this, *call.args), within=order[0], order=order if decides else ()
    )  # fmt: skip


_FRACTION = {"quantile_cont": "0.5", "quantile_disc": "0.5", "mode": ""}
