"""GROUP BY with its grouping sets, and expressions over groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sqlglot import exp

from ivm.catalog.types import BIGINT, collated
from ivm.sql.bind.aggregates.calls import AGGREGATES, WRAPPERS, is_windowed
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.expressions.binder import Aggregates, Binder
from ivm.sql.bind.names.scope import without_column
from ivm.sql.ir.coarser import coarser, decomposes
from ivm.sql.ir.rebuild import outers, relation_scalars
from ivm.sql.ir.relation import Map, Project, Reduce, Relation, Union
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, walk
from ivm.sql.tree import values_of

Set = tuple[exp.Expr, ...]

MOST_SETS = 128


def written_sets(context: BindContext, nodes: Sequence[exp.Expr]) -> list[Set]:
    """The grouping sets of a GROUP BY list: what its items are, combined with each other.

    A plain expression is one set of one. Each set becomes a Reduce of its own, so their number is bounded.
    """
    sets: list[Set] = [()]
    for node in nodes:
        sets = [(*left, *right) for left in sets for right in _item(context, node)]
        if len(sets) > MOST_SETS:
            context.refuse(node, f"this makes more than {MOST_SETS} grouping sets; name those that are wanted")
    return sets


def is_set(node: exp.Expr) -> bool:
    """Whether this stands for several grouping sets."""
    return isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)


def _item(context: BindContext, node: exp.Expr) -> list[Set]:
    if isinstance(node, exp.Rollup):
        units = list(map(_unit, node.expressions))
        return [_flat(units[:length]) for length in range(len(units), -1, -1)]
    if isinstance(node, exp.Cube):
        units = list(map(_unit, node.expressions))
        if 2 ** len(units) > MOST_SETS:
            context.refuse(node, f"CUBE of {len(units)} makes more than {MOST_SETS} grouping sets; name those wanted")
        return [_flat(chosen) for n in range(len(units), -1, -1) for chosen in combinations(units, n)]
    if isinstance(node, exp.GroupingSets):
        return [each for inner in node.expressions for each in _item(context, inner)]
    return [_unit(node)]


def _unit(node: exp.Expr) -> Set:
    """(a, b) counts as one in ROLLUP and CUBE; (a) is a; () is nothing."""
    return tuple(values_of(node))


def _flat(units: Sequence[Set]) -> Set:
    return tuple(each for unit in units for each in unit)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The keys of a block, each once, and its grouping sets as positions in them: one, of all keys, as a rule.

    `written` are the expressions that write the keys.
    """

    keys: tuple[Scalar, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ((),)
    written: tuple[exp.Expr, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether all rows are grouped by all keys."""
        return len(self.sets) == 1

    def absent(self, key: int) -> bool:
        """Whether a set goes without the key."""
        return any(key not in each for each in self.sets)


WHOLE = Grouping()
"""All rows are one group."""


def has_aggregate(binder: Binder, node: exp.Expr | None) -> bool:
    """Whether an aggregate of the block stands in the expression; a window function over one row set does not count."""
    if node is None:
        return False
    own = node.walk(prune=lambda n: isinstance(n, exp.Query))  # without those of subqueries
    return any(isinstance(n, AGGREGATES) and not is_windowed(n) and binder.around(_whole(n)) is None for n in own)


def _reads_key(item: exp.Expr) -> bool:
    """Whether a column stands in an expression outside of its aggregates."""
    own = item.walk(prune=lambda node: isinstance(node, (*AGGREGATES, exp.Grouping)))
    return any(isinstance(node, exp.Column) for node in own)


def _whole(node: exp.Expr) -> exp.Expr:
    """The aggregate with the FILTER and its like around it."""
    while isinstance(node.parent, WRAPPERS):
        node = node.parent
    return node


def bind_keys(
    context: BindContext, binder: Binder, group: exp.Expr | None, items: Sequence[exp.Expr]
) -> Grouping | None:
    """The keys of GROUP BY: expressions, aliases, positions or ALL, in sets; None if there is no GROUP BY."""
    if group is None:
        return None
    for arg in ("grouping_sets", "rollup", "cube", "totals"):
        if group.args.get(arg):
            context.refuse(group, f"this form of {arg.upper().replace('_', ' ')} is not supported; write it as DuckDB")
    by_all, collates, tells, plain = bool(group.args.get("all")), False, False, list[bool]()
    if by_all:
        plain = [not has_aggregate(binder, item) and not item.find(exp.Grouping) for item in items]
        tells = any(not is_key and _reads_key(item) for item, is_key in zip(items, plain, strict=True))
        written = [tuple(item for item, is_key in zip(items, plain, strict=True) if is_key)]
    elif any(map(is_set, group.expressions)):
        written = written_sets(context, group.expressions)
    else:
        written = [tuple(n for n in group.expressions if not (isinstance(n, exp.Tuple) and not n.expressions))]
    bound: dict[int, Scalar] = {}
    named: dict[Scalar, exp.Expr] = {}
    mark = context.mark()
    for node in (node for each in written for node in each):
        if id(node) not in bound:
            expression = _at_position(context, node, items).unalias()
            key = binder.bind(expression).stored
            if by_all and without_column(key) is not None:
                binder.refuse(node, "UNNEST with GROUP BY ALL is not supported, nor is it by DuckDB; list the keys")
            collates = collates or bool(key.type.collation)
            bound[id(node)] = _as_text(key) if by_all else key
            named.setdefault(bound[id(node)], expression)
    if by_all and named and not _tell_rows(binder, named):
        if binder.subqueries is not None:
            binder.subqueries.forget()
        context.forget(mark)
        return None
    if tells and not collates:
        context.grouped.append((group, tuple(i + 1 for i, is_key in enumerate(plain) if is_key)))
    keys = tuple(named)
    sets = tuple(tuple(dict.fromkeys(keys.index(bound[id(node)]) for node in each)) for each in written)
    if len(sets) == 1:
        keys, sets = tuple(keys[i] for i in sets[0]), (tuple(range(len(sets[0]))),)
    return Grouping(keys, sets, tuple(named[key] for key in keys))


def _tell_rows(binder: Binder, keys: Iterable[Scalar]) -> bool:
    """Whether the keys of GROUP BY ALL may differ from row to row of the block: they or their subqueries read a column
    of it. If none does, GROUP BY ALL is nothing, as in DuckDB.
    """
    asked = binder.subqueries.found if binder.subqueries is not None else ()
    return any(map(columns_of, keys)) or any(outers(relation_scalars(each.right), each.binding) for each in asked)


def _as_text(key: Scalar) -> Scalar:
    """A key of GROUP BY ALL, for which texts are as they are, as in DuckDB, whatever their collation."""
    return replace(key, type=collated(key.type, "")) if key.type.collation else key


def group_ties(grouping: Grouping, binder: Binder) -> list[exp.Expr]:
    """What tells the groups of a block apart, as SQL: the keys; with grouping sets, what else a group's row holds."""
    assert binder.aggregates is not None, "the block is grouped"
    keys = list(grouping.written)
    if grouping.is_plain:
        return keys
    return [*keys, *binder.aggregates.nodes, exp.Grouping(expressions=[key.copy() for key in keys])]


def _at_position(context: BindContext, node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    if not isinstance(node, exp.Literal) or node.is_string:
        return node
    if not node.is_int or not 1 <= int(node.name) <= len(items):
        context.fail(node, f"GROUP BY {node.name} is no position in the SELECT list; it has 1 to {len(items)}")
    return items[int(node.name) - 1]


def grouped(
    context: BindContext, relation: Relation, scalars: Iterable[Scalar], grouping: Grouping, binder: Binder
) -> tuple[Relation, list[Scalar]]:
    """The groups of a block's rows, and the expressions over them."""
    assert binder.aggregates is not None, "the block is grouped"
    scalars = list(scalars)
    calls = _grouping_calls(context, scalars, grouping, binder)
    over = over_groups(context, scalars, grouping, binder, calls)
    keys, aggregates = grouping.keys, binder.aggregates
    if grouping.is_plain:
        return reduce(relation, keys, aggregates), over
    finest = None
    if any(len(each) == len(keys) for each in grouping.sets) and decomposes(aggregates.found):
        finest = reduce(relation, keys, aggregates)
    branches = []
    for each in grouping.sets:
        if finest is None:
            below: Relation = reduce(relation, [keys[i] for i in each], aggregates)
        elif each == tuple(range(len(keys))):
            below = finest
        else:
            below = coarser(finest, each)
        branches.append(_branch(below, grouping, each, len(aggregates.found), calls))
    return Union(tuple(branches)), over


def reduce(relation: Relation, keys: Sequence[Scalar], aggregates: Aggregates) -> Reduce:
    """The reduce of a block; keys that are columns keep their name."""
    fields = relation.schema
    names = [fields[key.index].name if isinstance(key, Column) else f"key{i}" for i, key in enumerate(keys)]
    return Reduce(relation, tuple(keys), tuple(aggregates.found), (*names, *aggregates.names))


def _branch(
    below: Relation, grouping: Grouping, wanted: tuple[int, ...], count: int, calls: Sequence[Call]
) -> Relation:
    """One grouping set: all keys, NULL where it is not grouped by one, the aggregates, and what GROUPING() says."""
    missing = [i for i in range(len(grouping.keys)) if i not in wanted]
    nulls = [Literal(None, grouping.keys[i].type) for i in missing]
    bits = [Literal(_bits(grouping, wanted, call), BIGINT) for call in calls]
    width = len(below.schema)
    added = Map(below, (*nulls, *bits), tuple(f"added{i}" for i in range(len(nulls) + len(bits))))
    places = {**{key: i for i, key in enumerate(wanted)}, **{key: width + i for i, key in enumerate(missing)}}
    after = width + len(missing)
    columns = (
        *(places[i] for i in range(len(grouping.keys))),
        *range(len(wanted), len(wanted) + count),
        *range(after, after + len(calls)),
    )
    return Project(added if nulls or bits else below, columns)


def _bits(grouping: Grouping, wanted: tuple[int, ...], call: Call) -> int:
    value = 0
    for arg in call.args:
        value = 2 * value + (grouping.keys.index(arg) not in wanted)
    return value


def _grouping_calls(
    context: BindContext, scalars: Iterable[Scalar], grouping: Grouping, binder: Binder
) -> tuple[Call, ...]:
    """The GROUPING() calls among the expressions, each once."""
    found = [s for scalar in scalars for s in walk(scalar) if isinstance(s, Call) and s.function == "grouping"]
    for call in found:
        if not call.args or any(arg not in grouping.keys for arg in call.args):
            named = [binder.mentions.get(column) for arg in call.args for column in columns_of(arg)]
            at = next((node for node in named if node is not None), None)
            context.fail(at, "GROUPING() takes expressions of GROUP BY; add what it names to GROUP BY")
    return tuple(dict.fromkeys(found))


def over_groups(
    context: BindContext, scalars: Iterable[Scalar], grouping: Grouping, binder: Binder, calls: Sequence[Call] = ()
) -> list[Scalar]:
    """The expressions over the rows of the groups: keys, aggregates and GROUPING() are their columns.

    BindError for a column that is none of them, since a group may hold many values of it.
    """
    assert binder.aggregates is not None, "the block is grouped"
    keys, width, count = grouping.keys, binder.aggregates.width, len(binder.aggregates.found)
    positions = {key: i for i, key in enumerate(keys)}

    def rewrite(scalar: Scalar) -> Scalar:
        if scalar in positions:
            at = positions[scalar]
            return Column(at, scalar.type, scalar.nullable or grouping.absent(at))
        if isinstance(scalar, Column):
            if scalar.index >= width:
                return replace(scalar, index=scalar.index - width + len(keys))
            _ungrouped(context, binder, scalar)
        if isinstance(scalar, Call) and scalar.function == "grouping":
            if grouping.is_plain:
                return Literal(0, BIGINT)
            return Column(len(keys) + count + calls.index(scalar), BIGINT, False)
        if isinstance(scalar, Call):
            args = tuple(map(rewrite, scalar.args))
            # A key that a set goes without is NULL where the expression did not expect it.
            nullable = scalar.nullable or (not grouping.is_plain and scalar.function not in _NEVER_NULL)
            return replace(scalar, args=args, nullable=nullable)
        return scalar

    return [rewrite(scalar) for scalar in scalars]


_NEVER_NULL = frozenset(["is_null", "is_distinct"])


def _ungrouped(context: BindContext, binder: Binder, column: Column) -> None:
    node = binder.mentions.get(column.index)
    name = node.name if node else "a column"
    what = f"column {name!r} is neither in GROUP BY nor inside an aggregate"
    context.fail(node, f"{what}; add it to GROUP BY, or take min({name}) or max({name})")
