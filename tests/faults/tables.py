"""Faults in what creates and drops tables and indexes, interrupted once or again in what is done about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import ivm
from ivm.session.core import Core, engine_of
from ivm.session.database import core_of
from tests.faults.harness import Errors, Failure, Faults, Pick
from tests.faults.lines import lines_of, raising

_SCHEMA = """
CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL);
CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM t GROUP BY g
"""
_DECLARED = (
    "TABLE p (k BIGINT PRIMARY KEY, g INTEGER UNIQUE, t BIGINT REFERENCES t, CHECK (g > 0)) "
    "WITH (check_foreign_keys = true)"
)
DEFINITIONS = {
    "create": (f"CREATE {_DECLARED}", "DROP TABLE p"),
    "replace": (
        "CREATE OR REPLACE TABLE P (k BIGINT)",
        f"CREATE OR REPLACE {_DECLARED}; INSERT INTO p VALUES (1, 2, 3)",
    ),
    "filled": ("CREATE TABLE q AS SELECT * FROM v", "DROP TABLE q"),
    "index": ("CREATE UNIQUE INDEX i ON t (g)", "DROP INDEX i"),
    "unindex": ("DROP INDEX j", "CREATE UNIQUE INDEX j ON t (g)"),
    "drop": ("DROP TABLE p", f"CREATE {_DECLARED}; INSERT INTO p VALUES (1, 2, 3)"),
}
"""Each statement, and what leads back to where it was; the second one comes first where it can."""


def table_faults(kind: str, pick: Pick, errors: Errors) -> Faults:
    """Raise at the lines of a statement: afterwards it is done as a whole, or not at all, and the database goes on."""
    work, back = DEFINITIONS[kind]
    db = ivm.connect(compile="off")
    db.sql(_SCHEMA)
    if kind in ("replace", "unindex", "drop"):
        db.sql(back)
    before = _state(db)
    lines = lines_of(lambda: db.sql(work))
    after = _state(db)
    db.sql(back)
    for place in pick(lines):
        for number, error in enumerate(errors):
            with _again() if number == 0 else _once():
                raising(partial(db.sql, work), place, error)
            try:
                wrong = _wrong(db, work, back, before, after)
            except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
                wrong = f"{type(found).__name__}: {found}"[:300]
            yield place, Failure(f"tables, {kind}", place, error.__name__, wrong) if wrong else None
            if wrong:
                return  # the first says it all


def _wrong(db: ivm.Database, work: str, back: str, before: object, after: object) -> str:
    found = _state(db)
    if found not in (before, after):
        return f"{found} is neither {before} nor {after}"
    if found == before:
        db.sql(work)
    db.sql("INSERT INTO t VALUES (10, 10); DELETE FROM t WHERE id = 10")
    db.verify()
    db.sql(back)
    return "" if _state(db) == before else f"{_state(db)} is not {before}"


def _state(db: ivm.Database) -> object:
    """What there is, whoever is asked."""
    core = core_of(db)
    with core.lock:
        tables = engine_of(core).tables
        assert tables is engine_of(core).renderer.tables
        assert {each.name: each for each in core.catalog.tables} == {name: each.table for name, each in tables.items()}
        held = {name: (len(each.unique), len(each.foreign)) for name, each in tables.constrained.items()}
        return {name: (each.table, each.count, held.get(name)) for name, each in tables.items()}


@contextmanager
def _once() -> Iterator[None]:
    yield


@contextmanager
def _again() -> Iterator[None]:
    """What was interrupted is interrupted again, before anything of it is done, by whom it was; others go on with it."""
    calls, finish = 0, Core._finish

    def interrupted(core: Core) -> None:
        nonlocal calls
        calls += core._left is not None
        if calls == 2:
            calls += 1
            raise KeyboardInterrupt
        finish(core)

    with patch.object(Core, "_finish", interrupted):
        yield
