"""Make a failing case small: fewer views, tables, rows and times, and a shorter query, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from time import monotonic

import sqlglot
from sqlglot import exp

from tests.random.case import Case
from tests.random.changes import Batch, State, after
from tests.random.run import Failure, run

Fails = Callable[[Case], bool]


def shrunk(case: Case, failure: Failure, seconds: float = 30.0, shards: int | None = None) -> Case:
    """The smallest case found in about so many seconds that fails in the same way."""
    end = monotonic() + seconds

    def fails(candidate: Case) -> bool:
        if monotonic() > end:
            return False
        found = run(candidate, shards=shards).failure
        return found is not None and found.kind == failure.kind

    while True:
        before = case
        for step in (
            _one_way,
            _fewer_views,
            _shorter_queries,
            _fewer_batches,
            _fewer_rows,
            _merged_times,
            _fewer_tables,
        ):
            case = step(case, fails)
        if case == before or monotonic() > end:
            return case


def _one_way(case: Case, fails: Fails) -> Case:
    candidate = replace(case, ways=0)
    return candidate if case.ways and fails(candidate) else case


def _fewer_views(case: Case, fails: Fails) -> Case:
    for view in reversed(case.views):
        candidate = replace(case, views=tuple(other for other in case.views if other != view))
        if candidate.views and fails(candidate):
            case = candidate
    return case


def _fewer_tables(case: Case, fails: Fails) -> Case:
    for table in reversed(case.tables):
        rest = tuple(other for other in case.tables if other != table)
        batches = _only(case.batches, {other.name for other in rest})
        candidate = replace(case, tables=rest, batches=batches)
        if rest and not any(c.target == table.name for other in rest for c in other.columns) and fails(candidate):
            case = candidate
    for number, table in enumerate(case.tables):
        for column in table.columns:
            if column.target:
                columns = tuple(replace(c, target="") if c == column else c for c in table.columns)
                tables = (*case.tables[:number], replace(table, columns=columns), *case.tables[number + 1 :])
                candidate = replace(case, tables=tables)
                case = candidate if fails(candidate) else case
    return case


def _only(batches: tuple[Batch, ...], names: set[str]) -> tuple[Batch, ...]:
    return tuple(tuple(tuple(change for change in time if change[0] in names) for time in batch) for batch in batches)


def _fewer_batches(case: Case, fails: Fails) -> Case:
    for count in range(1, len(case.batches)):
        candidate = replace(case, batches=case.batches[:count])
        if fails(candidate):
            return candidate
    return case


def _merged_times(case: Case, fails: Fails) -> Case:
    """Times and batches made one with the next where possible."""
    at = 0
    while at + 1 < len(case.batches):
        both = (*case.batches[at], *case.batches[at + 1])
        candidate = replace(case, batches=(*case.batches[:at], both, *case.batches[at + 2 :]))
        if fails(candidate):
            case = candidate
        else:
            at += 1
    for number, batch in enumerate(case.batches):
        netted = _netted(batch)
        if len(batch) > 1 and netted is not None:
            candidate = replace(case, batches=(*case.batches[:number], netted, *case.batches[number + 1 :]))
            if fails(candidate):
                case = candidate
    return case


def _netted(batch: Batch) -> Batch | None:
    """The batch as one time, if no row both comes and goes in it."""
    changes = [change for time in batch for change in time]
    if any((name, row, -diff) in changes for name, row, diff in changes):
        return None
    return (tuple(sorted(changes, key=lambda change: change[2])),)


def _fewer_rows(case: Case, fails: Fails) -> Case:
    """Leave out changes, half of them at a time, then fewer; with a row's coming its going too."""
    size = max(1, sum(len(time) for batch in case.batches for time in batch) // 2)
    while size:
        at = 0
        while at < sum(len(time) for batch in case.batches for time in batch):
            candidate = replace(case, batches=_without(case.batches, at, at + size))
            if _is_possible(candidate) and fails(candidate):
                case = candidate
            else:
                at += size
        size //= 2
    return case


def _without(batches: tuple[Batch, ...], first: int, last: int) -> tuple[Batch, ...]:
    """The batches without the changes at positions [first, last), and without what can no longer go."""
    position = 0
    counts: dict[tuple[object, ...], int] = {}
    result = []
    for batch in batches:
        times = []
        for time in batch:
            kept = []
            for change in time:
                row = (change[0], *change[1])
                keep = not first <= position < last
                position += 1
                if change[2] < 0 and counts.get(row, 0) <= 0:
                    keep = False
                if keep:
                    counts[row] = counts.get(row, 0) + change[2]
                    kept.append(change)
            times.append(tuple(kept))
        result.append(tuple(times))
    return tuple(result)


def _is_possible(case: Case) -> bool:
    """Whether keys stay unique."""
    state: State = {table.name: [] for table in case.tables}
    for batch in case.batches:
        for time in batch:
            state = after(state, time)
            for table in case.tables:
                keys = [row[: table.keys] for row in state[table.name]]
                if table.keys and len(set(keys)) < len(keys):
                    return False
    return True


def _shorter_queries(case: Case, fails: Fails) -> Case:
    for number, (name, text) in enumerate(case.views):

        def with_text(shorter: str, number: int = number, name: str = name, case: Case = case) -> Case:
            return replace(case, views=(*case.views[:number], (name, shorter), *case.views[number + 1 :]))

        tree = sqlglot.parse_one(text, read="duckdb")
        if not fails(with_text(tree.sql("duckdb"))):
            continue
        tree = _shorter(tree, lambda candidate: fails(with_text(candidate.sql("duckdb"))))
        case = with_text(tree.sql("duckdb"))
    return case


def _shorter(tree: exp.Expr, fails: Callable[[exp.Expr], bool]) -> exp.Expr:
    again = True
    while again:
        again = False
        for candidate in candidates(tree):
            if len(candidate.sql("duckdb")) < len(tree.sql("duckdb")) and fails(candidate):
                tree, again = candidate, True
                break
    return tree


def candidates(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Trees that are one step smaller, the largest steps first: parts left out, or replaced by a part of theirs."""
    for at, node in enumerate(tree.bfs()):
        for name, value in list(node.args.items()):
            if isinstance(value, list) and (len(value) > 1 or name in ("joins", "order", "expressions")):
                for index in range(len(value)):
                    if isinstance(value[index], exp.Expr):
                        yield _edited(tree, at, partial(_drop_item, name, index))
            elif isinstance(value, exp.Expr) and name in _OPTIONAL:
                yield _edited(tree, at, partial(_drop_part, name))
        if isinstance(node, exp.SetOperation):
            yield from _narrower(tree, at, node)
        for inner in _parts(node):
            yield _replaced(tree, at, inner)


def _drop_item(name: str, index: int, node: exp.Expr) -> None:
    node.args[name].pop(index)


def _drop_part(name: str, node: exp.Expr) -> None:
    node.set(name, None)


_OPTIONAL = (
    "where", "group", "having", "qualify", "order", "limit", "offset", "distinct", "with_", "default", "on", "frame",
    "spec",
)  # fmt: skip
_SCALAR = (exp.Condition, exp.Func, exp.Paren, exp.Alias)


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """What may stand in place of a node: queries for queries, expressions for expressions."""
    if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        return [inner for inner in node.find_all(exp.Select) if inner is not node]
    if isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join):
        found: list[exp.Expr] = []
        for table in node.find_all(exp.Table):
            copy = table.copy()
            if node.alias:
                copy.set("alias", exp.TableAlias(this=exp.to_identifier(node.alias)))
            found.append(copy)
        return found
    if isinstance(node, exp.Filter):
        return [node.this]
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return []  # WHEN .. THEN is no expression; its parts have their own
    if isinstance(node, _SCALAR) and not isinstance(node, exp.Column | exp.Literal | exp.Alias | exp.Star):
        below = [n for n in node.walk() if n is not node and isinstance(n, exp.Column | exp.Literal)]
        return [*node.iter_expressions(), *below[:3], exp.Literal.number(1), exp.true()]
    return []


def _narrower(tree: exp.Expr, at: int, node: exp.SetOperation) -> Iterator[exp.Expr]:
    """A set operation without one of its columns."""
    for index in range(len(node.left.selects)):
        if len(node.left.selects) > 1:
            yield _edited(tree, at, partial(_drop_column, index))


def _drop_column(index: int, node: exp.Expr) -> None:
    for side in (node.this, node.args["expression"]):
        side.selects.pop(index)


def _edited(tree: exp.Expr, at: int, edit: Callable[[exp.Expr], object]) -> exp.Expr:
    copy = tree.copy()
    edit(_node(copy, at))
    return copy


def _replaced(tree: exp.Expr, at: int, part: exp.Expr) -> exp.Expr:
    copy = tree.copy()
    node = _node(copy, at)
    fresh = part.copy()
    if node.parent is None:
        return fresh
    node.replace(fresh)
    return copy


def _node(tree: exp.Expr, at: int) -> exp.Expr:
    for index, node in enumerate(tree.bfs()):
        if index == at:
            return node
    raise IndexError(at)
