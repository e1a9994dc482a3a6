"""How the rows of ordered aggregates stand, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ivm.trace.row_order import Term

ARGS, QUANTILES, ROWS = "args", "quantiles", "rows"
FORMS = {
    "arg_min": ARGS,
    "arg_max": ARGS,
    "any_value": ARGS,
    "quantile_cont": QUANTILES,
    "quantile_disc": QUANTILES,
    "string_agg": ROWS,
    "list": ROWS,
}
"""The ordered aggregates, by what is asked of their sets."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """How an aggregate's rows stand: by `terms`, without those that have a NULL in a column of `required`.

    The terms name columns of the input; the argument is one of them.
    """

    terms: tuple[Term, ...]
    required: tuple[int, ...]


def ordered_by(function: str, argument: Term, others: Sequence[Term], order: Sequence[Term]) -> Ordered:
    """How the rows of an ordered aggregate stand, given the columns that it reads."""
    required = tuple(dict.fromkeys(t.column for t in (*others, *(() if function == "list" else (argument,)))))
    if function in ("arg_min", "arg_max"):
        by = replace(others[0], descending=function == "arg_max")
        terms: tuple[Term, ...] = (by, argument)
    elif FORMS[function] == QUANTILES:
        terms = (replace(argument, descending=bool(order) and order[0].descending),)
    else:
        terms = (*order, argument)
    first: dict[int, Term] = {}
    for term in terms:
        # What is required is never NULL among the rows that stand in the set.
        first.setdefault(term.column, replace(term, nullable=False) if term.column in required else term)
    return Ordered(tuple(first.values()), required)
