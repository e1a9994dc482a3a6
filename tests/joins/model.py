"""What `Apply` means when its right side does not depend on its left: nested loops over bags, read off its docstring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from catalog.errors import NumericError
from sql.ir.relation import Apply, Relation
from tests.model.relation import Bag, Row, evaluate
from tests.model.scalar import is_true


def apply_meaning(apply: Apply, tables: Mapping[str, Mapping[Any, int]]) -> Bag:
    """The bag of a join of any kind, its sides holding no Apply."""
    left, right = evaluate(apply.left, tables), evaluate(apply.right, tables)
    result: Bag = Counter()
    for row, n in left.items():
        _add(result, apply, row, n, _partners(apply, row, right))
    if apply.kind == "full":
        for row, n in right.items():
            if not any(_fits(apply, other, row) for other in left):
                result[_nulls(apply.left) + row] += n
    return result


def _add(result: Bag, apply: Apply, row: Row, n: int, partners: Bag) -> None:
    match apply.kind:
        case "semi" | "anti":
            if bool(partners) == (apply.kind == "semi"):
                result[row] += n
        case "mark":
            result[(*row, bool(partners))] += n
        case _:
            if apply.kind == "single" and sum(partners.values()) > 1:
                raise NumericError("a second row")
            for other, m in partners.items():
                result[row + other] += n * m
            if not partners and apply.kind != "inner":
                result[row + _nulls(apply.right)] += n


def _partners(apply: Apply, row: Row, right: Bag) -> Bag:
    return Counter({other: m for other, m in right.items() if _fits(apply, row, other)})


def _fits(apply: Apply, row: Row, other: Row) -> bool:
    return all(is_true(p, row + other) for p in apply.predicates)


def _nulls(relation: Relation) -> Row:
    return (None,) * len(relation.schema)
