"""What stands behind all doors of a server: the database, who may come in, what is counted, and sessions."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ivm.arguments import Tabular
from ivm.results.result import Result
from ivm.serve.errors import LimitError
from ivm.serve.gate import Gate
from ivm.serve.settings import Limits, Settings
from ivm.serve.users import User
from ivm.serve.watch import Gone, Running, Watch
from ivm.session.database import Database
from ivm.session.of_session import of_session, put
from ivm.sql.parameters import Parameters

T = TypeVar("T")
log = logging.getLogger("ivm.serve")
"""Who comes and goes, what is refused, and what went wrong in the server itself; `extra` has it as fields."""
Counted = tuple[str, tuple[tuple[str, str], ...]]
"""What is counted: a name, and labels with their values."""


class Meter:
    """What doors count, by name and labels. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[Counted, float] = defaultdict(float)

    def add(self, name: str, by: float = 1, **labels: str) -> None:
        """Count more of something; `by` may be negative for what goes again."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += by

    def read(self) -> Mapping[Counted, float]:
        """All counts."""
        with self._lock:
            return dict(self._counts)


class Session:
    """What one client has of the database: transactions, settings, what is TEMP and rights of its own.

    `db` is the database as that client has it; what is done by it has no limit of time. Any thread may carry a
    session's work out, one at a time; `cancel` may come from another.
    """

    def __init__(self, db: Database, limits: Limits, watch: Watch) -> None:
        self.db = db
        self._limits = limits
        self._watch = watch
        self._running: Running | None = None
        self.gone: Gone | None = None
        """Says whether the client of the statement that runs has gone, where that is to be asked."""

    def sql(self, text: str, params: Parameters | None = None) -> Result:
        """Run statements, see `Database.sql`. LimitError for what takes too long, or answers with too many rows;
        CancelledError for what was cancelled.
        """
        found = self.within(lambda running: self.db.sql(text, params, progress=running.check))
        if len(found) > self._limits.result_rows:
            raise LimitError(
                f"cannot give an answer of {len(found):,} rows: one may have {self._limits.result_rows:,} here; write "
                "LIMIT, or serve with a larger limit of rows"
            )
        return found

    def put(self, table: str, rows: Tabular) -> None:
        """Insert rows into a table, in the transaction that the session has begun."""
        put(self.db, table, rows)

    def within(self, work: Callable[[Running], T]) -> T:
        """Do something in the time that a statement may take."""
        with self._watch.over(self._limits.seconds, self.gone) as running:
            self._running = running
            try:
                return work(running)
            finally:
                self._running = None

    def cancel(self, why: str = "it was cancelled") -> None:
        """End the statement that runs, if one does."""
        running = self._running
        if running is not None:
            running.cancel(why)

    def roll_back(self) -> None:
        """Let go of what it has begun and not committed; once its statement has ended."""
        if self.db.in_transaction and not self.db.closed:
            self.db.rollback()

    def close(self) -> None:
        """As `roll_back`, and drop what is TEMP, which waits for others who create or drop something."""
        self.roll_back()
        if not self.db.closed:
            self.db.close()


@dataclass(frozen=True)
class Inside:
    """What a door is given."""

    db: Database
    settings: Settings
    gate: Gate
    watch: Watch = field(default_factory=Watch)
    meter: Meter = field(default_factory=Meter)
    ending: threading.Event = field(default_factory=threading.Event)
    """Set when the server ends: streams and sessions that wait come to an end, what is at work may finish."""

    def session(self, user: User) -> Session:
        """A new session for somebody who has been let in. Cost: some microseconds."""
        return Session(of_session(self.db, user.refusal), self.settings.limits, self.watch)
