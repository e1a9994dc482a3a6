"""In how many ways a plan reads what it is made of."""

from __future__ import annotations

from catalog.errors import UnsupportedError
from ivm.plan.node import Plan, nodes_of

MOST_READINGS = 10_000
"""So many times a plan may read the same in vain."""


def check_readings(plan: Plan) -> None:
    """UnsupportedError where unions of unions, each of which reads the one before more than once, multiply too far.

    What keeps state reads its input once, to fill it; unions, joins and maps read their inputs anew for each reader.
    Cost: linear in the number of different nodes.
    """
    readings: dict[int, int] = {}
    for node in nodes_of(plan):
        count = sum(readings[id(each)] for each in node.read_anew()) or 1
        if count > MOST_READINGS:
            what = f"cannot plan this query: it reads one of its parts in more than {MOST_READINGS} ways, the limit"
            raise UnsupportedError(
                f"{what}, since subqueries or views stand in one another twice and more; make some of them MATERIALIZED"
            )
        readings[id(node)] = count
