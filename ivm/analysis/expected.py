"""How many rows a collection is expected to have, and how many values its columns: the one model of cardinality.

Plans, EXPLAIN, the keys of joins and distribution go by it: what each kind of node does to its input is told here, for
plans and relations alike. Beside counts it knows *domains*: columns of collections of whose values those of a column
are some, by foreign keys, filters and joins below. Columns that are equal meet in the smallest domain that both have;
so a join of what was filtered with what was filtered by the same is no accident, and keys of several columns are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, prod

from ivm.analysis.ranges import value_range
from ivm.analysis.selectivity import given, implies, selectivity
from ivm.catalog.types import BOOLEAN, DATE, VARCHAR, SqlType
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.rebuild import Row
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, columns_of

Domain = tuple[object, tuple[int, ...]]
"""Columns of a table, by its name, or of what was expected of some collection."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What some rows tell of a column: about how many values it has, and what share of the rows has the value of one
    of them, NULL aside; None where too few have the same one. Where some are frequent it is more than 1 by `count`.
    """

    count: float
    share: float | None


ValuesOf = Callable[[str, int], Shares | None]
"""What is told of a column of a table or view, by the name of that and the place of the column."""

GUESSED, _ABOUT = inf, 3.0
"""The doubt in the values of a column of which nothing is known, and in those that some rows tell of."""
_DAYS, _YEARS, _FEW = 2_500.0, 7.0, 25.0
"""The days and years that there are, and the values of whatever repeats in a small table."""
_SHARE = 0.1
"""The share of a column's rows that are distinct values, where nothing is known."""
_TOGETHER, _GUESSED = 0.5, 0.25
"""A second column multiplies combinations by this power of its values, a third by the power of the power, and so on:
what is grouped or filtered by together mostly depends on each other; and where values are guessed, guesses add up.
"""
_FEW_EACH = 2.0
"""Where a filter for values leaves no more rows than so many times the values, these rows were asked for one by one."""
_LEFT = 0.1
"""Where as much is taken away as there is, this share is expected to be left: nobody asks for nothing."""


@dataclass(frozen=True, slots=True)
class Values:
    """The distinct values of a column, or of several together: how many, and the domains that they are some of.

    `doubt`: by what factor the count may be wrong, GUESSED where nothing but the type says how many. `often`: by what
    factor the value of some row is more frequent than a value is on average; who asks for a value asks for such a one.
    `chosen`: whether they were asked for one by one.
    """

    count: float
    within: Mapping[Domain, float]
    doubt: float = 1.0
    often: float = 1.0
    chosen: bool = False

    @property
    def guessed(self) -> bool:
        """Whether nothing is known of them."""
        return self.doubt == GUESSED


@dataclass(frozen=True, slots=True)
class Together:
    """Several columns of which is known how many values they have; `determined`: the columns that follow from them."""

    columns: tuple[int, ...]
    values: Values
    determined: frozenset[int] = frozenset()


class Expected:
    """What is expected of a collection: `rows`, at least 0, and of each of its `width` columns the values.

    `find` and `known` are asked once, where somebody wants to know: the values of a column, and of columns together.
    """

    def __init__(
        self,
        rows: float,
        width: int,
        find: Callable[[int], Values],
        known: Callable[[], Iterable[Together]] = tuple,
    ) -> None:
        self.rows = rows
        self.width = width
        self._find, self._known = find, known
        self._values: dict[int, Values] = {}

    def values(self, column: int) -> Values:
        """The values of a column; no more than there are rows, else at least 1."""
        found = self._values.get(column)
        if found is None:
            below = self._find(column)
            count = min(self.rows, max(1.0, below.count))
            within = {**below.within, (self, (column,)): count}
            found = self._values[column] = replace(below, count=count, within=within)
        return found

    def distinct(self, column: int) -> float:
        """How many values a column has."""
        return self.values(column).count

    @cached_property
    def together(self) -> tuple[Together, ...]:
        """What is known of several columns together, and of columns from which others follow; those first."""
        return tuple(sorted(self._known(), key=lambda each: (not each.determined, len(each.columns))))

    def combinations(self, columns: Iterable[int]) -> float:
        """How many values several columns have together; no more than there are rows, else at least 1."""
        left, counts = set(columns), list[tuple[float, float]]()
        for each in self.together:
            if left.issuperset(each.columns):
                left -= each.determined.difference(each.columns)
        for each in self.together:
            if len(each.columns) > 1 and left.issuperset(each.columns):
                left -= set(each.columns)
                counts.append((each.values.count, _TOGETHER))
        for found in map(self.values, left):
            counts.append((found.count, _GUESSED if found.guessed else _TOGETHER))
        most = prod(count**power**place for place, (count, power) in enumerate(sorted(counts, reverse=True)))
        return min(self.rows, max(1.0, most if len(counts) < 2 else filled(most, self.rows)))


def filled(cells: float, rows: float) -> float:
    """How many of so many cells are not empty, if rows fall into them by chance."""
    return cells * (1.0 - exp(-rows / cells)) if cells > 0.0 else 0.0


def drawn(values: float, rows: float, kept: float) -> float:
    """How many of the values are left where so many of the rows are kept, whichever."""
    if kept >= rows or values <= 0.0:
        return values
    return values * (1.0 - (1.0 - kept / rows) ** (rows / values))


def nobody_knows(name: str, column: int) -> None:
    """Nothing is known of the values of any column."""


def table(
    name: str,
    row: Row,
    sizes: Mapping[str, float],
    keys: Iterable[tuple[int, ...]] = (),
    refers: Iterable[Reference] = (),
    values: ValuesOf = nobody_knows,
) -> Expected:
    """A table or view: its `keys` are unique, `refers` says whose values columns have, and `values` how many others
    have; of `sizes`, by name.
    """
    rows, every = sizes.get(name, 0.0), frozenset(range(len(row)))
    referred = [(key, name, key, rows) for key in keys]
    referred += [(r.columns, r.table, r.referenced, sizes[r.table]) for r in refers if r.table in sizes]
    domains: dict[tuple[int, ...], dict[Domain, float]] = {}
    for columns, owner, key, size in referred:
        domains.setdefault(columns, {})[owner, key] = size
    unique = {columns for columns, within in domains.items() if (name, columns) in within}

    def count(columns: tuple[int, ...]) -> float:
        return rows if columns in unique else filled(min(domains[columns].values()), rows)

    def parts(column: int) -> dict[Domain, float]:
        """The columns of which it has some values, being one of several columns of a key or a reference."""
        found: dict[Domain, float] = {}
        for columns, owner, key, size in referred:
            if column in columns:
                one = key[columns.index(column)]
                told = values(owner, one)
                found[owner, (one,)] = _usual(row[column].type, size) if told is None else told.count
        # Each refers to the next.
        least = min((size for (owner, _), size in found.items() if owner != name), default=inf)
        return {domain: min(size, least) for domain, size in found.items()}

    def find(column: int) -> Values:
        if (column,) in unique:
            return Values(rows, domains[column,])
        told = values(name, column)
        if (column,) in domains:
            found = Values(count((column,)), domains[column,])
        elif told is None:
            within = parts(column)
            found = Values(min((_usual(row[column].type, rows), *within.values())), within, GUESSED)
        else:
            found = Values(told.count, parts(column), _ABOUT)
        return found if told is None or told.share is None else replace(found, often=found.count * told.share)

    def known() -> Iterable[Together]:
        for columns, within in domains.items():
            if columns in unique or len(columns) > 1:
                yield Together(columns, Values(count(columns), within), every if columns in unique else frozenset())

    return Expected(rows, len(row), find, known)


def constant(rows: Sequence[Sequence[object]], width: int) -> Expected:
    """Rows that are known."""
    return Expected(float(len(rows)), width, lambda column: Values(float(len({row[column] for row in rows})), {}))


def fewer(below: Expected, rows: float, fixed: Mapping[int, float] | None = None) -> Expected:
    """Some of the rows; `fixed`: the columns of which only so many values are left, since others were not asked for."""
    values = fixed or {}
    chosen = bool(values) and rows <= _FEW_EACH * prod(values.values())
    if rows >= below.rows and not values:
        return below
    whole = below.rows

    def left(each: Values) -> Values:
        return replace(each, count=drawn(each.count, whole, rows), chosen=each.chosen or chosen)

    def find(column: int) -> Values:
        found = left(below.values(column))
        if column not in values:
            return found
        return Values(min(found.count, values[column]), found.within, chosen=found.chosen)

    return Expected(
        min(rows, whole),
        below.width,
        find,
        lambda: (Together(each.columns, left(each.values), each.determined) for each in below.together),
    )


def filtered(below: Expected, predicates: Sequence[Scalar], held: Sequence[Scalar] = ()) -> Expected:
    """The rows for which all predicates hold; those `held` hold of all rows already.

    Columns that are to have given values are looked at together. What another predicate implies tells no more.
    """

    def distinct(column: int) -> float | None:
        values = below.values(column)
        few = values.count * function_of("eq").holds < 1.0
        return max(1.0, values.count / values.often) if few or not values.guessed else None

    fixed: dict[int, float] = {}
    share, known = 1.0, 1.0
    for predicate in predicates:
        own = selectivity(predicate, distinct)
        column, values = given(predicate) or (None, ())
        if column is not None:
            fixed[column] = min(float(len(values)), fixed.get(column, inf))
        if column is None or distinct(column) is None:
            own /= prod(selectivity(each, distinct) for each in (*held, *predicates) if implies(predicate, each))
            share *= min(1.0, own)
        else:
            known *= own
    exact = [column for column in fixed if distinct(column) is not None]
    if exact and below.rows:
        often = prod(fixed[c] * below.values(c).often for c in exact)
        known = max(known, often / below.combinations(exact))
    return fewer(below, below.rows * share * min(1.0, known), fixed)


def projected(below: Expected, columns: Sequence[int]) -> Expected:
    """Some of the columns, in any order."""
    places = {column: place for place, column in reversed(list(enumerate(columns)))}

    def known() -> Iterable[Together]:
        for each in below.together:
            if places.keys() >= set(each.columns):
                determined = frozenset(places[c] for c in each.determined & places.keys())
                yield Together(tuple(places[c] for c in each.columns), each.values, determined)

    return Expected(below.rows, len(columns), lambda place: below.values(columns[place]), known)


def mapped(below: Expected, scalars: Sequence[Scalar], predicates: Sequence[Scalar] = ()) -> Expected:
    """The columns, and behind them what is computed of them and of each other, of rows for which `predicates` hold."""
    if not scalars:
        return below
    made: Expected

    def find(column: int) -> Values:
        return (
            below.values(column) if column < below.width else _computed(made, scalars[column - below.width], predicates)
        )

    made = Expected(below.rows, below.width + len(scalars), find, lambda: below.together)
    return made


def _computed(below: Expected, scalar: Scalar, predicates: Sequence[Scalar]) -> Values:
    """The values of an expression: no more than its columns have together, and than the function gives."""
    if isinstance(scalar, Column):
        return below.values(scalar.index)
    if isinstance(scalar, Literal):
        return Values(1.0, {})
    for each in predicates:
        if isinstance(each, Call) and each.function in ("eq", "in") and each.args[0] == scalar:
            return Values(float(len(each.args) - 1), {})
    most = min(below.rows, below.combinations(columns_of(scalar)), _most(scalar))
    guess = max(1.0, _usual(scalar.type, below.rows))
    return Values(min(most, guess), {}, GUESSED if most >= guess else 1.0)


def _most(scalar: Scalar) -> float:
    """The most values that an expression has, by its function."""
    match scalar:
        case Call("extract", (Literal("year"), _)):
            return _YEARS
        case Call("case", args) if all(isinstance(each, Literal) for each in (*args[1::2], args[-1])):
            return float(len({*args[1::2], args[-1]}))
    if scalar.type == BOOLEAN:
        return 2.0
    found = value_range(scalar)
    return inf if found is None else float(found[1] - found[0] + 1)


def grouped(below: Expected, keys: int, functions: Sequence[tuple[str, int | None]]) -> Expected:
    """Groups by the first `keys` columns, and aggregates: each its function and the column that it is over."""
    groups = below.combinations(range(keys)) if keys else 1.0
    left = projected(below, range(keys))

    def find(column: int) -> Values:
        if column < keys:
            return left.values(column)
        function, over = functions[column - keys]
        if function in ("count", "count_star"):
            return Values(groups**0.5, {}, GUESSED)
        if function in ("min", "max", "any_value", "first") and over is not None:
            return Values(drawn(below.distinct(over), below.rows, groups), below.values(over).within)
        return Values(groups * _SHARE, {}, GUESSED)

    def known() -> Iterable[Together]:
        columns, every = tuple(range(keys)), frozenset(range(keys + len(functions)))
        yield Together(columns, Values(groups, {}), every)
        yield from left.together

    return Expected(groups, keys + len(functions), find, known)


def distinct(below: Expected) -> Expected:
    """Each row once."""
    return fewer(below, below.combinations(range(below.width)))


def first(below: Expected, group: Sequence[int], limit: int | None) -> Expected:
    """The first rows of each group."""
    return below if limit is None else fewer(below, min(below.rows, limit * below.combinations(group)))


def summed(inputs: Sequence[Expected], negated: Sequence[bool]) -> Expected:
    """All rows of the inputs, less those of the negated ones; a column has the values of all of them."""
    came = sum(each.rows for each, gone in zip(inputs, negated, strict=True) if not gone)
    went = sum(each.rows for each, gone in zip(inputs, negated, strict=True) if gone)
    kept = [each for each, gone in zip(inputs, negated, strict=True) if not gone] or list(inputs)

    def find(column: int) -> Values:
        found = [each.values(column) for each in kept]
        common = {d: n for d, n in found[0].within.items() if all(d in each.within for each in found)}
        count = min((sum(each.count for each in found), *common.values()))
        return Values(count, common, max(each.doubt for each in found))

    whole = Expected(came, kept[0].width, find, (lambda: kept[0].together) if len(kept) == 1 else tuple)
    return fewer(whole, max(came - went, came * _LEFT)) if went and came else whole


def appended(below: Expected, width: int, times: float = 1.0, more: Expected | None = None) -> Expected:
    """The columns, as far as they go, and others up to `width`, in so many times as many rows; `more`: what these
    columns are of.
    """
    rows = below.rows * times

    def find(column: int) -> Values:
        if column < below.width:
            return below.values(column)
        return Values(rows * _SHARE, {}, GUESSED) if more is None else more.values(column - below.width)

    return Expected(rows, width, find, (lambda: below.together) if width >= below.width else tuple)


def unknown(rows: float, width: int) -> Expected:
    """So many rows of which nothing is known."""
    return Expected(rows, width, lambda _: Values(rows * _SHARE, {}, GUESSED))


def _usual(type_: SqlType, rows: float) -> float:
    """The distinct values of a column of a table of which nothing is known: names and days repeat more than numbers."""
    if type_ == BOOLEAN:
        return 2.0
    if type_ == DATE:
        return _DAYS
    return max(min(rows, _FEW), rows**0.5 if type_ == VARCHAR else rows * _SHARE)
