"""The oracle: a view's own SQL, recomputed by DuckDB over the current tables, compared as multisets."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import nan
from operator import itemgetter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ivm.arguments import view_names
from ivm.called import Functions, Remembered
from ivm.called_by_duckdb import connection_with
from ivm.catalog.errors import BindError, Error
from ivm.catalog.names import key, quoted, reached
from ivm.catalog.schema import Schema, View
from ivm.catalog.zones import UTC
from ivm.duck import Use, answer, connection, define, for_queries, offer, telling_in
from ivm.session.core import Core
from ivm.sql.forgiving import forgiving
from ivm.sql.ir.measures import measure_text
from ivm.sql.shifted import shifted
from ivm.trace.columns.python_values import values_or_texts
from ivm.trace.columns.stand_ins import undivided
from ivm.trace.columns.zones import told_in

_log = logging.getLogger(__name__)
TOLERANCE, SINGLE_TOLERANCE = 1e-9, 1e-6
SHOWN = 5
FEW_ROWS = 2000


class VerificationError(Error):
    """A view differs from what DuckDB computes; the message shows differing rows."""


class NoAnswerError(Exception):
    """DuckDB raises while it computes a view, which does not say that the view is wrong."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A view that equals its recomputation; `empty` warns that there were no rows to compare.

    `unchecked` says why DuckDB could not tell, where it raises on these rows what the query does not ask for; "" where
    it could.
    """

    view: str
    rows: int
    empty: bool
    unchecked: str = ""


def verify(core: Core, views: Sequence[str] | None) -> list[Verified]:
    """Compare views, all maintained ones if None, with DuckDB's recomputation from the tables, as of one moment."""
    core.check_whole("verify views of")
    with core.lock:
        engine, names = core.engine, names_asked(core, views)
        tables = {name: (store.reading(), store.table.fields) for name, store in engine.tables.items()}
        found = {name: engine.contents(name).arrow for name in names}
        texts = {view: engine.oracle_sql[view.name] for view in core.catalog.views}
        calling = Calling(core.functions, core.functions.remembered())
        schemas = {name: core.catalog.view(name).schema for name in names}
    core.certain()
    rows = {name: for_queries(read(), fields) for name, (read, fields) in tables.items()}
    shown = [_Shown(name, found[name](), schemas[name], rows, texts, calling) for name in names]
    try:
        expected = recompute(rows, texts, names, calling)
    except NoAnswerError:  # for some view: each for itself
        return list(map(_verified, shown))
    return [_compared(each, expected[each.name]) for each in shown]


@dataclass(frozen=True, slots=True)
class _Shown:
    """The rows that a view shows, and of what DuckDB computes them: see `recompute`."""

    name: str
    rows: pa.Table
    schema: Schema
    tables: Mapping[str, pa.Table]
    views: Mapping[View, str]
    calling: Calling

    def recomputed(self, written: Callable[[str], str]) -> pa.Table:
        """What DuckDB answers where each view's text is `written` so."""
        views = {view: written(text) for view, text in self.views.items()}
        return recompute(self.tables, views, [self.name], self.calling)[self.name]

    def compared(self, expected: pa.Table) -> Verified:
        """See `compare`."""
        return compare(self.name, *_alike(self.schema, self.rows, expected))


def _compared(shown: _Shown, expected: pa.Table) -> Verified:
    """Compare a view; if it differs, and holds variances or their like, with what these are without DuckDB's rounding
    (see `shifted`).
    """
    try:
        return shown.compared(expected)
    except VerificationError:
        if all(shifted(text) == text for text in shown.views.values()):
            raise
        with suppress(NoAnswerError, Error):
            return shown.compared(shown.recomputed(shifted))
        raise


def _alike(schema: Schema, found: pa.Table, expected: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both tables with what texts are compared by in the place of those that have a collation: of equal ones in a group
    DuckDB shows any. Cost: a pass of DuckDB's, if there are such.
    """
    if not any(field.type.is_collated for field in schema):
        return found, expected
    names = [f"c{place}" for place in range(found.num_columns)]
    texts = [measure_text(f.type, c) if f.type.is_collated else c for f, c in zip(schema, names, strict=True)]
    with connection(Use.ASIDE) as duck:
        for name, table in {"found": found, "expected": expected}.items():
            offer(duck, name, table.rename_columns(names))
        one, other = (answer(duck, f"SELECT {', '.join(texts)} FROM {name}") for name in ("found", "expected"))
    return one, other


def _verified(shown: _Shown) -> Verified:
    """Compare a view, also if DuckDB computes what the query does not ask for, and raises there.

    A view that stands has raised nothing: it would have refused the commit. So what raises in DuckDB is a value that
    the query does not need, behind a condition that DuckDB takes later, or a sum that it adds in another order. Asked
    again it may have NULL there (see `forgiving`). If it raises still, it cannot tell.
    """
    try:
        return _compared(shown, shown.recomputed(str))
    except NoAnswerError as error:
        reason = str(error)
    try:
        expected = shown.recomputed(forgiving)
    except (NoAnswerError, Error):
        _log.warning("view %s cannot be checked: %s", shown.name, reason)
        return Verified(shown.name, shown.rows.num_rows, shown.rows.num_rows == 0, reason)
    return shown.compared(expected)


def names_asked(core: Core, views: Sequence[str] | None) -> list[str]:
    """The maintained views that are asked for, all if None, as they were called when they were made. BindError."""
    names = core.settings.names
    asked = filter(names.sees, core.engine.views) if views is None else map(names.given, view_names(views))
    return [core.maintained(name).definition.name for name in asked]


@dataclass(frozen=True, slots=True)
class Calling:
    """The functions of the application's that views may call, and what these have `known` of them."""

    functions: Functions = field(default_factory=Functions)
    known: Remembered = field(default_factory=dict)


def recompute(
    tables: Mapping[str, pa.Table], views: Mapping[View, str], names: Sequence[str], calling: Calling = Calling()
) -> dict[str, pa.Table]:
    """DuckDB's answer for the views called `names`; `views` are all there are, in order of definition, with their SQL
    for DuckDB.

    A maintained view that others read is computed once, as they may be many, and stand on each other any number of
    times; and so is each where views are told in several zones. VerificationError where DuckDB does not take a text,
    NoAnswerError where it raises on these rows.
    """
    try:
        return _recomputed(tables, views, names, calling)
    except duckdb.InvalidTypeException:
        # Of x > a AND x <= b it makes a BETWEEN where it pushes filters down, which it has not for lists and structs.
        return _recomputed(tables, views, names, calling, without="filter_pushdown")


def _recomputed(
    tables: Mapping[str, pa.Table], views: Mapping[View, str], names: Sequence[str], calling: Calling, without: str = ""
) -> dict[str, pa.Table]:
    """As `recompute`, by DuckDB `without` one of its optimizers; it may raise InvalidTypeException with it."""
    uses, texts = {key(view.name): view.uses for view in views}, {view.name: sql for view, sql in views.items()}
    read = reached((used for asked in names for used in uses[key(asked)]), lambda name: uses.get(name, ()))
    zones = {view.name: view.zone for view in views}
    several, name = len(set(zones.values())) > 1, ""
    try:
        functions = calling.functions
        called = functions.named_in(*texts.values())
        with connection_with(functions, called, Use.ASIDE, calling.known, without=without) as duck:
            for name, table in tables.items():
                offer(duck, name, table)
            for view, sql in views.items():
                name = view.name
                if key(name) in read:
                    with telling_in(duck, view.zone):
                        define(duck, name, sql, kept=view.maintained or several)
            found = {}
            for name in names:
                query = quoted(name) if key(name) in read else f"({texts[name]}) AS asked"
                with telling_in(duck, zones[name]):
                    found[name] = told_in(answer(duck, f"SELECT * FROM {query}"), UTC)
            return found
    except duckdb.InvalidTypeException as error:
        if not without:
            raise
        raise NoAnswerError(f"DuckDB does not compute this: {error}") from error
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise NoAnswerError(f"DuckDB raises on these rows: {error}") from error
    except (duckdb.Error, BindError) as error:
        raise VerificationError(
            f"cannot compare {name}: DuckDB does not compute it: {error}; please report it"
        ) from error


def compare(view: str, found: pa.Table, expected: pa.Table) -> Verified:
    """Equal as multisets: exactly, but DOUBLE within 1e-9 relative and FLOAT, which a last bit of a DOUBLE may round
    up or down, within 1e-6; also within lists, structs and maps. Raises VerificationError with differing rows.
    """
    if found.num_columns != expected.num_columns:
        raise VerificationError(f"view {view}: {found.num_columns} columns, DuckDB has {expected.num_columns}")
    allowed = allowances(expected.schema)
    few = max(found.num_rows, expected.num_rows) <= FEW_ROWS
    if few or not _equal_sorted(found, expected, allowed):
        _raise_difference(view, found, expected, allowed)
    return Verified(view, expected.num_rows, expected.num_rows == 0)


def allowances(schema: pa.Schema) -> list[float]:
    """How far values of each column may lie apart, relative to them."""
    return [_allowed(each) for each in schema.types]


def _allowed(type_: pa.DataType) -> float:
    if pa.types.is_nested(type_):
        return max((_allowed(type_.field(place).type) for place in range(type_.num_fields)), default=0.0)
    if not pa.types.is_floating(type_):
        return 0.0
    return TOLERANCE if pa.types.is_float64(type_) else SINGLE_TOLERANCE


def _equal_sorted(found: pa.Table, expected: pa.Table, allowed: Sequence[float]) -> bool:
    """Compared in an order that does not depend on how the rows came: by the exact columns first."""
    if found.num_rows != expected.num_rows:
        return False
    names = [f"c{i}" for i in range(len(allowed))]
    order = ", ".join(name for _, name in sorted(zip(allowed, names, strict=True), key=itemgetter(0)))
    with connection(Use.ASIDE) as duck:
        offered = {"found": found, "expected": expected}
        for name, table in offered.items():
            duck.register(name, undivided(table).rename_columns(names))
        left, right = [answer(duck, f"SELECT * FROM {name} ORDER BY {order}") for name in offered]
    for mine, theirs, tolerance in zip(left.columns, right.columns, allowed, strict=True):
        if tolerance:
            if not _close(mine, theirs, tolerance):
                return False
        elif not mine.cast(theirs.type).combine_chunks().equals(theirs.combine_chunks()):
            return False
    return True


def _close(left: pa.ChunkedArray, right: pa.ChunkedArray, tolerance: float) -> bool:
    if not left.is_null().combine_chunks().equals(right.is_null().combine_chunks()):
        return False
    if pa.types.is_nested(left.type):
        pairs = zip(*(map(_hashable, column.to_pylist()) for column in (left, right)), strict=True)
        return all(_is_close(one, other, tolerance) for one, other in pairs)
    mine, theirs = (c.drop_null().to_numpy().astype(np.float64) for c in (left, right))
    return bool(np.isclose(mine, theirs, rtol=tolerance, atol=0.0, equal_nan=True).all())


def _raise_difference(view: str, found: pa.Table, expected: pa.Table, allowed: Sequence[float]) -> None:
    """Compare row by row with rounded doubles; raise unless the order of close doubles was the only difference."""
    mine, theirs = (Counter(_rounded(table, allowed)) for table in (found, expected))
    check_rest(view, "DuckDB", (found.num_rows, expected.num_rows), mine - theirs, theirs - mine, allowed)


def check_rest(
    view: str,
    oracle: str,
    rows: tuple[int, int],
    extra: Counter[tuple[object, ...]],
    missing: Counter[tuple[object, ...]],
    allowed: Sequence[float],
) -> None:
    """VerificationError, unless rows that only the view has (`extra`) and those that it has not (`missing`) are the
    same but for rounding. `rows`: of how many both are what is left; `allowed`: see `allowances`.
    """
    if not _match_closely(extra, missing, allowed):
        raise VerificationError(
            f"view {view} differs from {oracle}: {rows[0]} rows against {rows[1]}; "
            f"only in the view: {_some(extra)}; only in {oracle}: {_some(missing)}"
        )


def _rounded(table: pa.Table, allowed: Sequence[float]) -> list[tuple[object, ...]]:
    columns = [values_or_texts(column) for column in table.columns]
    for column, tolerance in zip(columns, allowed, strict=True):
        if any(isinstance(v, list | dict) for v in column):
            column[:] = map(_hashable, column)
        if tolerance:
            column[:] = [_shortened(v, digits_of(tolerance)) for v in column]
    return list(zip(*columns, strict=True))


def _shortened(value: Any, digits: int) -> Any:
    """A float, or those within what is nested, with so many digits behind the point."""
    if isinstance(value, tuple):
        return tuple(_shortened(each, digits) for each in value)
    return float(f"{value:.{digits}e}") if isinstance(value, float) else value


def _hashable(value: Any) -> Any:
    """What equals another where the values do, of lists, structs and maps too; every NaN is one."""
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((_hashable(key), _hashable(each)) for key, each in value.items())
    return nan if value != value else value


def digits_of(tolerance: float) -> int:
    """How many decimals of a number are compared at first, behind the one in front of the point."""
    return 9 if tolerance == TOLERANCE else 6


def _match_closely(
    extra: Counter[tuple[object, ...]], missing: Counter[tuple[object, ...]], allowed: Sequence[float]
) -> bool:
    """Whether every extra row has a missing partner that differs from it by rounding only."""
    rest = list(missing.elements())
    for row in extra.elements():
        partner = next((other for other in rest if _same(row, other, allowed)), None)
        if partner is None:
            return False
        rest.remove(partner)
    return not rest


def _same(row: tuple[object, ...], other: tuple[object, ...], allowed: Sequence[float]) -> bool:
    return all(_is_close(*each) for each in zip(row, other, allowed, strict=True))


def _is_close(mine: Any, theirs: Any, tolerance: float) -> bool:
    """Whether two values, or what they are made of, differ by rounding only."""
    if mine == theirs or (tolerance and mine != mine and theirs != theirs):
        return True
    if isinstance(mine, tuple) and isinstance(theirs, tuple) and len(mine) == len(theirs):
        return all(_is_close(one, other, tolerance) for one, other in zip(mine, theirs, strict=True))
    if not tolerance or not isinstance(mine, float) or not isinstance(theirs, float):
        return False
    return abs(mine - theirs) <= 2 * tolerance * max(abs(mine), abs(theirs))


def _some(rows: Counter[tuple[object, ...]]) -> str:
    shown = [f"{row} x{count}" if count > 1 else str(row) for row, count in list(rows.items())[:SHOWN]]
    rest = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return (", ".join(shown) or "nothing") + rest
