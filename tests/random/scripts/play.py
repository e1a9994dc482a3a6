"""A script on the engine and on DuckDB, compared after each statement."""

from __future__ import annotations

import shutil
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

import ivm
from tests.random.bags import Bag, bag_of, changed, same
from tests.random.scripts.step import REOPEN, Script, Step
from tests.random.scripts.views import FUNCTIONS


@dataclass(frozen=True, slots=True)
class Failure:
    """What differs, at which step."""

    kind: str
    step: int
    message: str


@dataclass(slots=True)
class Played:
    """What came of a script. `refused` are the engine's messages; `skipped` says why it was not run to its end."""

    failure: Failure | None = None
    compared: int = 0
    done: int = 0
    failed: int = 0
    refused: list[str] = field(default_factory=list)
    skipped: str = ""


class _Stop(Exception):
    """The script ends here."""


def play(script: Script) -> Played:
    """Run a script."""
    played = Played()
    with TemporaryDirectory() as folder:
        run = _Run(script, played, Path(folder))
        try:
            run.through()
        except _Stop:
            pass
        finally:
            run.close()
    return played


class _Run:
    """A script on its way. `logs` has the rows of each maintained view by what its subscription told."""

    def __init__(self, script: Script, played: Played, folder: Path) -> None:
        self.script, self.played, self.folder = script, played, folder
        self.opened, self.at, self.missed = 0, 0, False
        self.engine = self._open()
        self.duck = duckdb.connect()
        for name, function in FUNCTIONS.items():
            self.duck.create_function(name, function, ["INTEGER"], "INTEGER")
        self.logs: dict[str, tuple[ivm.Subscription, Bag]] = {}

    def close(self) -> None:
        """Let go of both."""
        self.engine.close()
        self.duck.close()

    def through(self) -> None:
        """Run it to the end."""
        for number, step in enumerate(self.script.steps):
            self.at = number
            if step.text == REOPEN:
                self._reopen()
            elif step.duckdb:
                self._tell(step.text)
            else:
                self._both(step)
            self._compare()
        try:
            if not self.engine.in_transaction:
                self.engine.verify()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            self._fail("verify", _said(error))

    def _open(self) -> ivm.Database:
        options: dict[str, Any] = {
            "compile": "off",
            "functions": {
                name: {"function": f, "parameters": ["INTEGER"], "return_type": "INTEGER"}
                for name, f in FUNCTIONS.items()
            },
        }
        match self.script.place:
            case "memory":
                return ivm.connect(**options)
            case "disk":
                return ivm.connect(self.folder / f"{self.opened}.ivm", **options)
            case shards:
                return ivm.connect(shards=int(shards), **options)

    def _reopen(self) -> None:
        """Closed and opened; every other time its files are those that a crash would leave."""
        if self.script.place != "disk":
            return
        self.logs = {}
        try:
            if self.opened % 2:
                shutil.copytree(self.folder / f"{self.opened}.ivm", self.folder / f"{self.opened + 1}.ivm")
            else:
                self.engine.close()
                (self.folder / f"{self.opened}.ivm").rename(self.folder / f"{self.opened + 1}.ivm")
            self.engine.close()
            self.opened += 1
            self.engine = self._open()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            self._fail("crash", _said(error))

    def _tell(self, text: str) -> None:
        """What DuckDB alone is told; not where a definition before was refused, or undone, of which that may speak."""
        if self.missed:
            self._skip("DuckDB is told of what was refused")
        try:
            self.duck.execute(text)
        except duckdb.Error as error:
            if "TransactionContext" not in str(error):
                self._skip(f"DuckDB is not told: {_said(error)}")

    def _both(self, step: Step) -> None:
        mine, my_error = self._on_engine(step.text)
        if isinstance(my_error, ivm.UnsupportedError):
            self.played.refused.append(str(my_error).splitlines()[0])
            self._roll_back(step.text)
            return
        theirs, their_error = self._on_duckdb(step.text)
        if (my_error is None) != (their_error is None):
            self._differ(my_error, their_error)
        if my_error is not None:
            self.played.failed += 1
            self._roll_back(step.text)
            return
        self.played.done += 1
        if theirs is not None and not same(mine, theirs):
            self._fail(
                "answer",
                f"only here {list((mine - theirs).items())[:3]}; only there {list((theirs - mine).items())[:3]}",
            )

    def _on_engine(self, text: str) -> tuple[Bag, Exception | None]:
        try:
            result = self.engine.sql(text)
            return (bag_of(result.arrow()) if _answers(text) else Bag([(result.rowcount,)])), None
        except ivm.Error as error:
            return Bag(), error
        except Exception as error:
            self._fail("crash", _said(error))
            raise

    def _on_duckdb(self, text: str) -> tuple[Bag | None, Exception | None]:
        if text == "CHECKPOINT":
            return None, None
        try:
            text = text.replace("MATERIALIZED VIEW", "VIEW", 1)
            if _answers(text):
                return bag_of(self.duck.sql(text).to_arrow_table()), None
            rows = self.duck.execute(text).fetchall()
            return (Bag(rows) if _counts(text) else None), None
        except duckdb.Error as error:
            return None, error

    def _differ(self, mine: Exception | None, theirs: Exception | None) -> None:
        """One of them raised."""
        if isinstance(mine, ivm.NumericError) or isinstance(
            theirs, duckdb.OutOfRangeException | duckdb.ConversionException
        ):
            self._skip("a value fails")
        if any(each in str(theirs) for each in _OF_DUCKDB):
            self._skip(f"DuckDB: {_said(theirs)}")
        if theirs is None and "used by" in str(mine):
            self._skip("DuckDB drops what others read")
        self._fail("error", f"engine: {_said(mine)}; DuckDB: {_said(theirs)}")

    def _roll_back(self, text: str) -> None:
        """A statement that failed ends the transaction, for both."""
        self.missed = self.missed or not _counts(text) or self.engine.in_transaction
        if self.engine.in_transaction:
            self.engine.rollback()
            self.duck.execute("ROLLBACK")

    def _compare(self) -> None:
        """All tables and views, as both have them."""
        if self.at + 1 < len(self.script.steps) and self.script.steps[self.at + 1].duckdb:
            return  # DuckDB's views are not yet what they will be
        inside = self.engine.in_transaction
        kept = set() if inside else {view.name for view in self.engine.views() if view.maintained}
        for schema, name in self.duck.execute(_NAMES).fetchall():
            called = name if schema == "main" else f"{schema}.{name}"
            try:
                expected = bag_of(self.duck.sql(f"SELECT * FROM {called}").to_arrow_table())
            except duckdb.Error as error:
                self._skip(f"DuckDB cannot read {called}: {_said(error)}")
            try:
                if called not in kept or self.at % 4 == 0:
                    self._same(called, bag_of(self.engine.sql(f"SELECT * FROM {called}").arrow()), expected, "")
                if called in kept:
                    self._same(called, bag_of(self.engine.view(called).arrow()), expected, "as a view")
                    self._same(called, self._told(called), expected, "by what was told")
            except _Stop:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                self._fail("crash", f"cannot read {called}: {_said(error)}")

    def _told(self, name: str) -> Bag:
        """The rows of a view by all that its subscription has told."""
        if name not in self.logs:
            self.logs[name] = (self.engine.subscribe(name, snapshot=True), Bag())
        subscription, bag = self.logs[name]
        bag = changed(bag, subscription.fetch().to_pylist())
        self.logs[name] = subscription, bag
        return bag

    def _same(self, name: str, found: Bag, expected: Bag, how: str) -> None:
        self.played.compared += 1
        if not same(found, expected):
            mine, theirs = list((found - expected).items())[:3], list((expected - found).items())[:3]
            self._fail("rows", f"{name} {how}: only here {mine}; only there {theirs}")

    def _fail(self, kind: str, message: str) -> None:
        self.played.failure = Failure(kind, self.at, f"{message} [{self.script.steps[self.at].text[:200]}]")
        raise _Stop

    def _skip(self, why: str) -> None:
        self.played.skipped = why
        raise _Stop


_NAMES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal
"""
_OF_DUCKDB = ("INTERNAL Error", "Duplicate key", "same transaction", "depend")
"""What DuckDB alone refuses: keys that come where others go, and to alter what indexes are over."""


def _answers(text: str) -> bool:
    """Whether it gives rows."""
    return text.startswith("SELECT") or " RETURNING " in text


def _counts(text: str) -> bool:
    return text.startswith(("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"))


def _said(error: Any) -> str:
    if error is None:
        return "no error"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first[:300]}{place}"
