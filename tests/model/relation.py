"""What a relation means: a slow, obvious interpreter over bags of rows. Everything that runs is measured against it.

A bag is a Counter of row tuples, values in engine form, multiplicities of any sign and never zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import ge, gt, le, lt
from typing import Any

from ivm.catalog.errors import NumericError
from ivm.sql.ir.rebuild import map_scalars
from ivm.sql.ir.relation import (
    Apply,
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Negate,
    Order,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Literal, Outer, Scalar, Value, rewrite
from tests.model.lists import unnested
from tests.model.ordered import aggregate_rows
from tests.model.scalar import is_true, value_of
from tests.model.values import checked, same, sort_key
from tests.model.windows import windows

Row = tuple[Value, ...]
Bag = Counter[Row]


def evaluate(relation: Relation, tables: Mapping[str, Mapping[Any, int]]) -> Bag:
    """The bag that `relation` denotes when each Get denotes `tables[name]`, and a RecursiveGet `tables[held(name)]`.

    Raises NumericError where an expression has no value on a row that reaches it. A Filter tests its predicates in
    order and a row leaves at the first that is not TRUE.
    """
    match relation:
        case Get():
            return _bag({_checked(row, relation): diff for row, diff in tables[relation.name].items()})
        case Constant():
            return Counter(_checked(row, relation) for row in relation.rows)
        case Map():
            return _each(relation.input, tables, lambda row: row + tuple(value_of(s, row) for s in relation.scalars))
        case Filter():
            bag = evaluate(relation.input, tables)
            return Counter({row: n for row, n in bag.items() if all(is_true(p, row) for p in relation.predicates)})
        case Project():
            return _each(relation.input, tables, lambda row: tuple(row[c] for c in relation.columns))
        case Unnest():
            return _unnest(relation, evaluate(relation.input, tables))
        case Join():
            return _join(relation, [evaluate(r, tables) for r in relation.inputs])
        case Reduce():
            return _reduce(relation, evaluate(relation.input, tables))
        case TopK():
            return _top_k(relation, evaluate(relation.input, tables))
        case Window():
            return windows(relation, evaluate(relation.input, tables))
        case Union():
            return _sum(evaluate(r, tables) for r in relation.inputs)
        case Negate():
            return Counter({row: -n for row, n in evaluate(relation.input, tables).items()})
        case Threshold():
            return Counter({row: n for row, n in evaluate(relation.input, tables).items() if n > 0})
        case Asof():
            return _asof(relation, *(evaluate(side, tables) for side in (relation.left, relation.right)))
        case Apply():
            return _apply(relation, tables)
        case RecursiveGet():
            return _bag(tables[held(relation.name)])
        case LetRec():
            return _loop(relation, tables)
    raise AssertionError(f"unknown relation {relation!r}")


def _bag(counts: Mapping[Row, int]) -> Bag:
    return Counter({row: n for row, n in counts.items() if n})


def _checked(row: Row, relation: Relation) -> Row:
    return tuple(checked(value, field.type) for value, field in zip(row, relation.schema, strict=True))


def _sum(bags: Any) -> Bag:
    total: Bag = Counter()
    for bag in bags:
        total.update(bag)
    return _bag(total)


def _each(input_: Relation, tables: Mapping[str, Mapping[Any, int]], function: Any) -> Bag:
    total: Bag = Counter()
    for row, n in evaluate(input_, tables).items():
        total[function(row)] += n
    return _bag(total)


def _unnest(unnest: Unnest, bag: Bag) -> Bag:
    total: Bag = Counter()
    for row, n in bag.items():
        lists: list[Any] = [value_of(each, row) for each in unnest.lists]
        for made in unnested(unnest, row, lists):
            total[made] += n
    return _bag(total)


def _join(join: Join, bags: list[Bag]) -> Bag:
    """Inputs are added one by one; a class is tested as soon as two of its columns are there."""
    rows: Bag = Counter({(): 1})
    for bag in bags:
        longer: Bag = Counter()
        for left, n in rows.items():
            for right, m in bag.items():
                row = left + right
                if all(_agree([row[c] for c in group if c < len(row)]) for group in join.equivalences):
                    longer[row] += n * m
        rows = _bag(longer)
    return rows


def _apply(apply: Apply, tables: Mapping[str, Mapping[Any, int]]) -> Bag:
    """Nested loops: for each left row the right side is evaluated anew, its outer columns literals."""
    left, result = evaluate(apply.left, tables), Counter[Row]()
    missing: Row = (None,) * len(apply.right.schema)
    met: set[Row] = set()
    for row, n in left.items():
        right = evaluate(_at(apply.right, apply.binding, row), tables)
        partners = {r: m for r, m in right.items() if all(is_true(p, row + r) for p in apply.predicates)}
        met.update(partners)
        if apply.kind in ("semi", "anti"):
            if bool(partners) == (apply.kind == "semi"):
                result[row] += n
        elif apply.kind == "mark":
            result[(*row, bool(partners))] += n
        else:
            if apply.kind == "single" and sum(partners.values()) > 1:
                raise NumericError("a subquery used as a value returned more than one row")
            for partner, m in partners.items():
                result[row + partner] += n * m
            if not partners and apply.kind != "inner":
                result[row + missing] += n
    if apply.kind == "full":
        for row, n in evaluate(apply.right, tables).items():
            if row not in met:
                result[(None,) * len(apply.left.schema) + row] += n
    return _bag(result)


def _at(relation: Relation, binding: int, row: Row) -> Relation:
    """The relation as it is seen from one outer row."""

    def bind(scalar: Scalar) -> Scalar:
        if isinstance(scalar, Outer) and scalar.binding == binding:
            return Literal(row[scalar.index], scalar.type)
        return scalar

    return map_scalars(relation, lambda scalar: rewrite(scalar, bind))


MOST_ROUNDS = 200


class EndlessError(Exception):
    """A loop goes on after the rounds that there may be."""


def held(name: str) -> str:
    """By what name `tables` has what a binding of a loop holds."""
    return f"held by {name}"


def _loop(loop: LetRec, tables: Mapping[str, Mapping[Any, int]]) -> Bag:
    """All bindings are evaluated anew, in order, until nothing changes."""
    now: dict[str, Bag] = {held(binding.name): Counter() for binding in loop.bindings}
    result = held(loop.bindings[loop.result].name)
    for _ in range(loop.limit or MOST_ROUNDS):
        before = dict(now)
        for binding in loop.bindings:
            now[held(binding.name)] = evaluate(binding.relation, {**tables, **now})
        if now == before:
            return now[result]
    if loop.limit is None or loop.fails_at_limit:
        raise EndlessError
    return now[result]


def _agree(values: list[Value]) -> bool:
    return all(v is not None and same(v, values[0]) for v in values)


def _reduce(reduce: Reduce, bag: Bag) -> Bag:
    groups: dict[Row, list[tuple[Row, int]]] = {} if reduce.keys else {(): []}
    for row, n in bag.items():
        groups.setdefault(tuple(value_of(k, row) for k in reduce.keys), []).append((row, n))
    result: Bag = Counter()
    for key, members in groups.items():
        if reduce.keys and sum(n for _, n in members) == 0:
            continue
        values = [aggregate_rows(a, members) for a in reduce.aggregates]
        result[key + tuple(values)] = 1
    return result


def _top_k(top: TopK, bag: Bag) -> Bag:
    groups: dict[Row, list[Row]] = {}
    for row in bag:
        groups.setdefault(tuple(row[c] for c in top.group), []).append(row)
    result: Bag = Counter()
    for rows in groups.values():
        rows.sort(key=lambda row: [(value is None, _key(value)) for value in row])
        for order in reversed(top.order):
            rows.sort(key=lambda row, c=order.column: _key(row[c]), reverse=order.descending)  # type: ignore[misc]
            rows.sort(key=lambda row, o=order: (row[o.column] is None) != o.nulls_first)  # type: ignore[misc]
        skip, left = top.offset, top.limit
        if top.ties:
            result.update(_ranked(top, rows, bag))
            continue
        for row in rows:
            skipped = min(skip, bag[row])
            taken = bag[row] - skipped if left is None else min(left, bag[row] - skipped)
            skip -= skipped
            left = None if left is None else left - taken
            if taken:
                result[row] = taken
    return result


def _asof(asof: Asof, left: Bag, right: Bag) -> Bag:
    """For each row of the left all rows of the right are looked at."""
    test, (mine, its) = _COMPARED[asof.function], asof.times
    first = TopK(asof.right, (), (Order(its, asof.function in ("ge", "gt")),), 1)
    result: Bag = Counter()
    for row, n in left.items():
        near: Bag = Counter()
        for other in right:
            compared = row[mine] is not None and other[its] is not None and test(_key(row[mine]), _key(other[its]))
            if compared and all(_key(row[c]) == _key(other[d]) for c, d in asof.keys):
                near[other] = 1
        for found in _top_k(first, near) or [(None,) * len(asof.right.schema)] * asof.outer:
            result[row + found] += n
    return result


_COMPARED = {"ge": ge, "gt": gt, "le": le, "lt": lt}


def _ranked(top: TopK, rows: list[Row], bag: Bag) -> Bag:
    """Of a group's rows in order those with fewer than `limit` before them that differ in what they are ordered by."""
    by = [tuple((row[o.column] is None, _key(row[o.column])) for o in top.order) for row in rows]
    before = {key: sum(bag[row] for row in rows[: by.index(key)]) for key in by}
    assert top.limit is not None
    return Counter({row: bag[row] for row, key in zip(rows, by, strict=True) if before[key] < top.limit})


def _key(value: Value) -> Any:
    """A sort key that any NULLs share with each other and with no value (they are placed by their own key)."""
    return (0,) if value is None else (1, sort_key(value))
