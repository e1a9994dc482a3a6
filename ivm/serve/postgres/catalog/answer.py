"""Answers to queries about what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import duckdb
import pyarrow as pa

from catalog.errors import UnsupportedError
from catalog.names import MAIN
from ivm.duck import Use, answer, connection, offer, told
from ivm.serve.postgres.catalog.empty import EMPTY
from ivm.serve.postgres.catalog.functions import CALLED, FUNCTIONS, Function, of_session
from ivm.serve.postgres.catalog.relations import RELATIONS, Asked
from ivm.serve.postgres.variables import VERSION
from ivm.session.core import Core
from ivm.session.own_catalog import catalogued
from sql.postgres_names import OWN, CatalogQuery, catalog_query

_KNOWN = {*RELATIONS, *EMPTY}
_HINT = re.compile(rf"\bpg_|\binformation_schema\b|\b(?:{'|'.join(sorted(CALLED))})\b|::\s*reg", re.IGNORECASE)
"""What stands in every query that is for here, and in others."""


def about_catalog(text: str) -> CatalogQuery | None:
    """A query about what there is; None for any other text. ParseError. Cost: a search, where nothing hints at it."""
    return catalog_query(text, _KNOWN, CALLED) if _HINT.search(text) is not None else None


def answered(core: Core, query: CatalogQuery, user: str, process: int, settings: Mapping[str, str]) -> pa.Table:
    """The rows of a query about what there is. Raises what a SELECT raises. Cost: some milliseconds, and as much as what
    there is of what it asks.
    """
    if query.others:
        raise UnsupportedError(
            f"cannot read {', '.join(query.others)} and what there is (pg_catalog, information_schema) in one query; ask "
            "one after the other"
        )
    asked = _asked(core, user, settings)
    path = (*core.settings.path, MAIN)
    own = of_session(core.catalog.database, user, VERSION, process, path, settings)
    try:
        with catalogued(core) if query.informs else connection(Use.OWN, zone=core.settings.zone) as duck:
            _define(duck, asked, query, {**FUNCTIONS, **own})
            return answer(duck, query.text)
    except duckdb.Error as error:
        raise told(error, Use.CLOSED) from error


def _asked(core: Core, user: str, settings: Mapping[str, str]) -> Asked:
    with core.lock:
        catalog = core.catalog.fixed()
        rows = {table.name: core.engine.tables[table.name].count for table in catalog.tables}
    return Asked(catalog, rows, user or "ivm", settings)


def _define(duck: duckdb.DuckDBPyConnection, asked: Asked, query: CatalogQuery, functions: Mapping[str, Function]) -> None:
    """Let the connection know the relations and functions that a query names, and those that these name."""
    called = list(_with_called(query.functions, functions))
    for name in {*query.relations, *(each for name in called for each in functions[name].reads)}:
        made = RELATIONS.get(name)
        offer(duck, name, EMPTY[name] if made is None else made(asked))
    for name in called:
        own = name if name.startswith(OWN) else OWN + name
        duck.execute(f"CREATE TEMP MACRO {own}{functions[name].forms}")


def _with_called(names: frozenset[str], functions: Mapping[str, Function]) -> Iterator[str]:
    """The names, before them what they call."""
    if any("ivm_path" in functions[name].forms for name in names):
        yield "ivm_path"
    yield from names
