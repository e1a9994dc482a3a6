"""Answers to queries about what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import duckdb
import pyarrow as pa

from ivm.catalog.errors import BindError, UnsupportedError
from ivm.catalog.names import MAIN
from ivm.duck import Use, answer, connection, offer, told
from ivm.serve.postgres.catalog.asked import Asked
from ivm.serve.postgres.catalog.empty import EMPTY
from ivm.serve.postgres.catalog.functions import CALLED, FUNCTIONS, Function, of_session
from ivm.serve.postgres.catalog.numbers import RELATION_NUMBERS
from ivm.serve.postgres.catalog.relations import RELATIONS
from ivm.serve.postgres.catalog.texts import TEXTS
from ivm.serve.postgres.types import INT8, OID, Shape, shapes
from ivm.serve.postgres.variables import VERSION
from ivm.session.core import Core
from ivm.session.own_catalog import catalogued, row_counts
from ivm.sql.postgres_names import OWN, CatalogQuery, catalog_query

_KNOWN = {*RELATIONS, *EMPTY}
_MARKS = ("pg_", "information_schema", "regclass", "regtype", *(name for name in CALLED if not name.startswith("pg_")))
"""One of these stands in every query that is for here, and in others."""


def about_catalog(text: str) -> CatalogQuery | None:
    """A query about what there is; None for any other text. Cost: a search, if nothing hints at it."""
    folded = text.lower()
    return catalog_query(text, _KNOWN, CALLED) if any(mark in folded for mark in _MARKS) else None


def answered(core: Core, query: CatalogQuery, user: str, process: int, settings: Mapping[str, str]) -> pa.Table:
    """The rows of a query about what there is. Raises what a SELECT raises. Cost: some milliseconds, and
    that of telling all that there is of what it asks.
    """
    unknown = next((each for each in query.others if each.startswith("pg_")), None)
    if unknown is not None:
        raise BindError(f"there is no table or view {unknown!r} of what there is; ask information_schema")
    if query.others:
        raise UnsupportedError(
            f"cannot read {', '.join(query.others)} and what there is (pg_catalog, information_schema) in one query; "
            "ask one after the other"
        )
    asked = _asked(core, user, settings)
    path = (*core.settings.path, MAIN)
    own = of_session(core.catalog.database, user, VERSION, process, path, settings)
    try:
        with catalogued(core) if query.informs else connection(Use.OWN, zone=core.settings.zone) as duck:
            _define(duck, asked, query, {**FUNCTIONS, **own})
            return _with_vectors(answer(duck, query.text))
    except duckdb.Error as error:
        raise told(error, Use.CLOSED) from error


def shapes_of(rows: pa.Table) -> list[Shape]:
    """The types of an answer's columns: whole numbers that are those of things are OIDs, and no others."""
    found = shapes(rows.schema)
    is_number = (shape.of is INT8 and (shape.is_array or name.endswith("oid")) for name, shape in zip(
        rows.column_names, found, strict=True))  # fmt: skip
    return [Shape(OID, shape.is_array) if is_oid else shape for shape, is_oid in zip(found, is_number, strict=True)]


def _asked(core: Core, user: str, settings: Mapping[str, str]) -> Asked:
    with core.lock:
        catalog = core.catalog.lasting(core.settings.names.temp)
        rows = row_counts(core, catalog)
    return Asked(catalog, rows, user or "ivm", settings)


def _define(
    duck: duckdb.DuckDBPyConnection, asked: Asked, query: CatalogQuery, functions: Mapping[str, Function]
) -> None:
    """Let the connection know the relations and functions that a query names, and those that these name."""
    called = list(_with_called(query.functions, functions))
    for name in {*query.relations, *(read for each in called for read in functions[each].reads)}:
        made = RELATIONS.get(name) or TEXTS.get(name)
        rows = EMPTY[name] if made is None else made(asked)
        if _TABLE in query.text:
            rows = rows.append_column(_TABLE, pa.array([RELATION_NUMBERS.get(name, 0)] * rows.num_rows, pa.int64()))
        offer(duck, name, rows)
    for name in called:
        own = name if name.startswith(OWN) else OWN + name
        duck.execute(f"CREATE TEMP MACRO {own}{functions[name].forms}")


def _with_called(names: frozenset[str], functions: Mapping[str, Function]) -> Iterator[str]:
    """The names, before them what they call."""
    for each in ("ivm_path", "ivm_user"):
        if any(each in functions[name].forms for name in names):
            yield each
    yield from names


_TABLE = "tableoid"
"""A column that all relations have, which tells the relation, where it is asked for."""
_VECTORS = frozenset(["indkey", "indclass", "indoption", "indcollation"])


def _with_vectors(rows: pa.Table) -> pa.Table:
    """Lists that are vectors of Postgres's as texts, the numbers apart by spaces."""
    for place, field in enumerate(rows.schema):
        if field.name in _VECTORS and pa.types.is_list(field.type):
            texts = [None if each is None else " ".join(map(str, each)) for each in rows.column(place).to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(texts, pa.string()))
    return rows
