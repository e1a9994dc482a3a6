"""What one client of Postgres's protocol has of the database, and how its statements are carried out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from ivm.catalog.errors import NumericError
from ivm.catalog.names import as_literal
from ivm.serve.inside import Session
from ivm.serve.postgres.catalog.answer import about_catalog, answered, shapes_of
from ivm.serve.postgres.copy_words import Copy
from ivm.serve.postgres.copying import Into, into, taken_in
from ivm.serve.postgres.cursors import Cursors
from ivm.serve.postgres.errors import FAILED, SqlStateError
from ivm.serve.postgres.following import Following, Wanted
from ivm.serve.postgres.messages import Described
from ivm.serve.postgres.outcome import Outcome, outcome_of
from ivm.serve.postgres.prepared import Portal, Prepared
from ivm.serve.postgres.spoken import Spoken
from ivm.serve.postgres.types import BY_OID, IN_SQL, TEXT, Shape, shape_of
from ivm.serve.postgres.variables import Variables
from ivm.serve.watch import Running
from ivm.session.core import Core
from ivm.session.database import Database, core_of
from ivm.session.defining_schemas import drop_temporary, has_temporary
from ivm.session.script import first_word, without_comments
from ivm.session.transactions import Holder, Transactions
from ivm.sql.parameters import filled_with_texts

_ASKS = frozenset(["SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "PIVOT", "DESCRIBE", "SUMMARIZE"])
_CHANGES = frozenset(["INSERT", "UPDATE", "DELETE", "MERGE"])
_RETURNING = re.compile(
    r"(?:INTO|UPDATE|FROM)\s+(?P<table>(?:[\w.]|\"[^\"]*\")+).*\bRETURNING\b(?P<list>.*)", re.IGNORECASE | re.DOTALL
)
_OPTION = re.compile(r"(?:-c\s*|--)([\w.]+)=((?:[^\s\\]|\\.)*)")
_OF_TIME = 0.9
"""So much of the time that a statement may take is waited in FETCH for what does not come."""
_ENDS = frozenset(["COMMIT", "END", "ROLLBACK", "ABORT"])

_TEXT, _NO_TEXT = "''", "CAST(NULL AS VARCHAR)"


@dataclass(frozen=True, slots=True)
class Description:
    """The types of a statement's parameters, and its columns; None where it has none."""

    parameters: tuple[int, ...]
    columns: list[Described] | None


class PgSession:
    """One client's. Any thread carries its statements out, one at a time."""

    def __init__(self, session: Session, user: str, process: int, seconds: float) -> None:
        """`process`: the number by which a client knows the connection. `seconds`: how long a statement may take."""
        core = core_of(session.db)
        self.transactions = Transactions(core, Holder())
        self.user, self.process = user, process
        self._waits = seconds * _OF_TIME
        self.session = session
        self.core = core
        self.db = session.db = Database(core, self.transactions)
        self.variables = Variables(user)
        self.portals: dict[str, Portal] = {}
        """Those of the protocol, by their names."""
        self.cursors = Cursors(self.db, self.portals)
        self.spoken = Spoken(self.db, core, self.transactions, self.variables)

    def start(self, said: Mapping[str, str]) -> None:
        """Have settings be as a client says when it connects. Those that there are not, and `user`, are passed over."""
        options = dict(_OPTION.findall(said.get("options", "")))
        for name, value in {**said, **options}.items():
            if name in ("user", "database", "options", "replication") or name.startswith("_pq_."):
                continue
            if self.variables.knows(name):
                self.variables.start(name, value)
            elif name.lower() in ("timezone", "search_path"):
                self.run(f"SET {name} = {as_literal(value)}")

    @property
    def status(self) -> str:
        """What a client is told when it may go on: I, or within a transaction T, or E where it has failed."""
        begun = self.transactions.begun
        return "I" if begun is None else "E" if begun.error else "T"

    @property
    def is_together(self) -> bool:
        """Whether statements take effect together, though nobody has said BEGIN."""
        return self.spoken.is_together

    def begin_together(self) -> None:
        """What follows takes effect together, at `end_together`, unless a transaction is open. Cost: nothing yet."""
        if self.transactions.begun is None:
            self.transactions.begin(read_only=self.variables.only_reads)
            self.spoken.together, self.spoken.repeats = self.transactions.begun, False

    def end_together(self) -> None:
        """Let what took effect together be seen, or nothing of it if some has failed. Raises what COMMIT raises."""
        begun = self.transactions.begun
        if begun is None or not self.is_together:
            return
        try:
            if not begun.error:
                self.db.commit()
        finally:
            if self.transactions.begun is begun:
                self.transactions.rollback()
            self.cursors.end()

    def renew(self) -> None:
        """Let the transaction that is open see what exists by now, if it has changed nothing and may: what it defines
        from then on is not in the way of what others have.
        """
        begun = self.transactions.begun
        if begun is not None and not self.spoken.repeats:
            begun.renew()

    def run(self, text: str, values: Sequence[str] = (), *, is_last: bool = False) -> Outcome:
        """Carry out one statement, with the SQL of values in the place of its parameters. `is_last`: what takes effect
        together does so then.

        Raises what `Database.sql` raises, SqlStateError, and what `Session.sql` does; a transaction is aborted by that.
        """
        word = first_word(text)
        with self._begun(word):
            outcome = self._carried_out(word, text, values)
        if is_last:
            self.end_together()
        if outcome.tag in ("DISCARD ALL", "DISCARD TEMP", "DISCARD TEMPORARY"):
            self.drop_temporary()
        return outcome

    @property
    def has_temporary(self) -> bool:
        """Whether there is anything that is TEMP."""
        return has_temporary(self._works_on())

    def drop_temporary(self) -> None:
        """Drop what is TEMP."""
        drop_temporary(self.core, self._works_on())

    def _carried_out(self, word: str, text: str, values: Sequence[str]) -> Outcome:
        written = filled_with_texts(text, values) if values else text
        spoken = self.spoken.run(word, written) or self._with_cursors(word, written)
        if self.transactions.begun is None:
            self.cursors.end()
        if spoken is not None:
            return spoken
        told = self._of_catalog(word, written)
        return outcome_of(word, text, self.session.sql(written)) if told is None else told

    def _of_catalog(self, word: str, text: str) -> Outcome | None:
        """What a query about what there is answers; None for any other statement."""
        query = about_catalog(text) if word in _ASKS else None
        if query is None:
            return None
        of_engine = {name: self.spoken.shown(name) or "" for name in ("timezone", "search_path")}
        settings = {**self.variables.all(), **of_engine}
        begun = self.transactions.begun
        seen = self.core if begun is None or not begun.is_open else begun.core()
        rows = self.session.within(lambda _: answered(seen, query, self.user, self.process, settings))
        return Outcome("SELECT", rows, shapes_of(rows), counts=True)

    def copy_into(self, copy: Copy) -> Into:
        """Where the rows of a COPY go. Raises what `run` raises."""
        with self._begun("COPY"):
            return into(self._works_on(), copy)

    def copied_in(self, copy: Copy, target: Into, data: bytes) -> int:
        """Insert the rows of a COPY; how many they were."""
        with self._begun("COPY"):
            return self.session.within(lambda _: taken_in(self._works_on(), copy, target, data))

    def subscribed(self, wanted: Wanted) -> Following:
        """Be told of what changes in a view."""
        with self._begun("SUBSCRIBE"):
            return wanted.subscribed(self.db)

    def _with_cursors(self, word: str, text: str) -> Outcome | None:
        """What a statement about a cursor answers; None for any other."""
        if word not in ("DECLARE", "FETCH", "MOVE", "CLOSE"):
            return None
        seconds, begun = self._waits, self.transactions.begun is not None
        bare = without_comments(text).strip().rstrip(";").rstrip()
        if word != "FETCH":
            return self.cursors.run(word, bare, self.run, begun, seconds, lambda: None)
        return self.session.within(
            lambda running: self.cursors.run(word, bare, self.run, begun, seconds, partial(_check, running))
        )

    def _works_on(self) -> Core:
        """The core, or the transaction that is open."""
        return self.core if self.transactions.begun is None else self.transactions.core()

    @contextmanager
    def _begun(self, word: str) -> Iterator[None]:
        """A statement that begins with a word is carried out in the block: if it fails, so does its transaction."""
        self.check_goes_on(word)
        self._forget_schemas()
        try:
            yield
        except BaseException as error:
            self.transactions.failed(error)
            raise

    def described(self, statement: Prepared, values: Sequence[str] | None = None) -> Description:
        """What a statement takes and gives, which is not carried out for that. Where no `values` are given yet, its
        columns keep these types, whatever values come.
        """
        text, word = statement.text, first_word(statement.text)
        self.check_goes_on(word)
        given = [_null_of(oid) for oid in statement.types] if values is None else values
        try:
            columns = self._columns(word, filled_with_texts(text, given) if given else text)
        except NumericError:  # where a NULL may not be, such as a key of JSON, a text may
            given = [_TEXT if _null_of(oid) == _NO_TEXT else _null_of(oid) for oid in statement.types]
            if _TEXT not in given or values is not None:
                raise
            columns = self._columns(word, filled_with_texts(text, given))
        statement.shapes = None if columns is None else [shape for _, shape in columns]
        return Description(
            statement.types, None if columns is None else [shape.described(name) for name, shape in columns]
        )

    def _columns(self, word: str, text: str) -> list[tuple[str, Shape]] | None:
        if word == "EXPLAIN":
            return [("QUERY PLAN", Shape(TEXT))]
        outcome = self.run(text) if word == "SHOW" else self._of_catalog(word, text)
        if outcome is not None and outcome.rows is not None:
            return list(zip(outcome.rows.column_names, outcome.shapes, strict=True))
        asked = text if word in _ASKS else _returned(text) if word in _CHANGES else ""
        if not asked:
            return None
        names, kinds, *_ = self.session.sql(f"DESCRIBE {asked}").arrow().columns
        return [(name, shape_of(kind)) for name, kind in zip(names.to_pylist(), kinds.to_pylist(), strict=True)]

    def _forget_schemas(self) -> None:
        """Look no names up in schemas that others have dropped."""
        path, catalog = self.core.settings.path, self.core.catalog
        if any(catalog.schema(each) is None for each in path):
            self.core.settings.path = tuple(each for each in path if catalog.schema(each) is not None)

    def check_goes_on(self, word: str) -> None:
        """SqlStateError if the transaction has failed, and this does not end it."""
        begun = self.transactions.begun
        if begun is not None and begun.error and word not in _ENDS:
            raise SqlStateError(
                FAILED,
                f"the current transaction is aborted, and nothing of it will take effect: {begun.error}; ROLLBACK",
            )

    def close(self) -> None:
        """Let go of all but what is TEMP. What is not committed has never been."""
        self.cursors.end(all=True)
        self.session.roll_back()


def _check(running: Running) -> None:
    """Raise why it is to end, if it is."""
    error = running.error
    if error is not None:
        raise error


def _returned(text: str) -> str:
    """A SELECT that has the columns which a change returns; empty where it returns none."""
    found = _RETURNING.search(text)
    return "" if found is None else f"SELECT {found['list'].rstrip(' ;')} FROM {found['table']} LIMIT 0"


def _null_of(oid: int) -> str:
    """The NULL of a type, as SQL has it."""
    of = BY_OID.get(oid)
    return "NULL" if of is None or of not in IN_SQL else f"CAST(NULL AS {IN_SQL[of]})"
