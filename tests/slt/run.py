"""Run a script on an engine, checking it or collecting its results."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

import ivm
from tests.slt.engines import DuckDB, Engine, Ivm
from tests.slt.records import Record, read, rewritten
from tests.slt.values import lines_of, same, types_of

HERE = Path(__file__).parent


class Failed(AssertionError):
    """A record did not do what the script says; the message has its place, text, and both results."""


def check(path: Path, shards: int | None = None) -> int:
    """Run a script on the engine; the number of its records. Raises Failed at the first record that goes wrong.

    `shards`: over so many, if that is given.
    """
    engine = Ivm(shards)
    records = [record for record in read(path) if engine.name in record.engines]
    for record in records:
        try:
            _check(engine, record)
        except Failed as failed:
            raise Failed(f"{path.name}:{record.first + 1}: {failed}\n{record.sql}") from failed.__cause__
    engine.end()
    return len(records)


def _check(engine: Engine, record: Record) -> None:
    try:
        table = engine.run(record)
    except (ivm.Error, duckdb.Error) as error:
        if record.error is None or isinstance(error, ivm.VerificationError):
            raise Failed(f"{type(error).__name__}: {error}") from error
        if not re.search(record.error, str(error), flags=re.IGNORECASE | re.DOTALL):
            raise Failed(f"the message does not match {record.error!r}: {error}") from error
        return
    if record.error is not None:
        raise Failed(f"succeeds, but should fail with {record.error!r}")
    if table is None:
        return
    found = lines_of(table, record.sort)
    types = record.types if record.sort != "valuesort" else "T"
    if len(types_of(table)) != len(record.types) or not same(found, record.expected, types):
        raise Failed("found\n" + "\n".join(found) + "\nexpected\n" + "\n".join(record.expected))


def rewrite(path: Path) -> bool:
    """Put DuckDB's results into a script; whether its text changed. Raises Failed where DuckDB disagrees with it."""
    engine = DuckDB()
    results = {}
    for record in read(path):
        if engine.name not in record.engines:
            continue
        try:
            table = engine.run(record)
        except duckdb.Error as error:
            if record.error is None:
                raise Failed(f"{path.name}:{record.first + 1}: DuckDB: {error}\n{record.sql}") from error
            continue
        if record.error is not None:
            place = f"{path.name}:{record.first + 1}"
            raise Failed(f"{place}: DuckDB accepts this, write `onlyif ivm` before it\n{record.sql}")
        if table is not None:
            results[record.first] = types_of(table), lines_of(table, record.sort)
    before, after = path.read_text(encoding="utf-8"), rewritten(path, results)
    path.write_text(after, encoding="utf-8")
    return before != after
