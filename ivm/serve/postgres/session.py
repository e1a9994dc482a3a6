"""What one client of Postgres's protocol has of the database, and how its statements are carried out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from catalog.names import as_literal
from ivm.results.result import Result
from ivm.serve.inside import Session
from ivm.serve.postgres.catalog.answer import about_catalog, answered
from ivm.serve.postgres.errors import FAILED, SqlStateError
from ivm.serve.postgres.messages import Described
from ivm.serve.postgres.outcome import Outcome, outcome_of
from ivm.serve.postgres.prepared import Prepared
from ivm.serve.postgres.spoken import Spoken
from ivm.serve.postgres.types import BY_OID, IN_SQL, TEXT, Shape, shape_of
from ivm.serve.postgres.variables import Variables
from ivm.session.database import Database, core_of
from ivm.session.script import first_word
from ivm.session.transactions import Holder, Transactions
from sql.parameters import filled_with_texts

_ASKS = frozenset(["SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "PIVOT", "DESCRIBE", "SUMMARIZE"])
_COLUMNS = "DESCRIBE"
_CHANGES = frozenset(["INSERT", "UPDATE", "DELETE", "MERGE"])
_RETURNING = re.compile(
    r"(?:INTO|UPDATE|FROM)\s+(?P<table>(?:[\w.]|\"[^\"]*\")+).*\bRETURNING\b(?P<list>.*)", re.IGNORECASE | re.DOTALL
)
_OPTION = re.compile(r"(?:-c\s*|--)([\w.]+)=((?:[^\s\\]|\\.)*)")
_ENDS = frozenset(["COMMIT", "END", "ROLLBACK", "ABORT"])


@dataclass(frozen=True, slots=True)
class Description:
    """The types of a statement's parameters, and its columns; None where it has none."""

    parameters: tuple[int, ...]
    columns: list[Described] | None


class PgSession:
    """One client's. Any thread carries its statements out, one at a time."""

    def __init__(self, session: Session, user: str, process: int) -> None:
        """`process`: the number by which a client knows the connection."""
        core = core_of(session.db)
        self.transactions = Transactions(core, Holder())
        self.user, self.process = user, process
        self.session = session
        self.core = core
        self.db = session.db = Database(core, self.transactions)
        self.variables = Variables(user)
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

    def run(self, text: str, values: Sequence[str] = ()) -> Outcome:
        """Carry out one statement, with the SQL of values in the place of its parameters.

        Raises what `Database.sql` raises, SqlStateError, and what `Session.sql` does; a transaction is aborted by that.
        """
        word = first_word(text)
        self.check_goes_on(word)
        self._forget_schemas()
        try:
            spoken = self.spoken.run(word, text)
            if spoken is not None:
                return spoken
            written = filled_with_texts(text, values) if values else text
            return outcome_of(word, text, self._answer(word, written))
        except BaseException as error:
            self.transactions.failed(error)
            raise

    def _answer(self, word: str, text: str) -> Result:
        """What the database answers, of what there is too. Of a DESCRIBE that tells the columns of a query."""
        begins = "DESCRIBE " if word == _COLUMNS else ""
        query = about_catalog(text.removeprefix(begins)) if word in _ASKS else None
        if query is None:
            return self.session.sql(text)
        settings = {**self.variables.all(), "timezone": self.core.settings.zone}
        whole = replace(query, text=begins + query.text)
        return self.session.within(lambda _: Result(answered(self.core, whole, self.user, self.process, settings)))

    def described(self, statement: Prepared, values: Sequence[str] | None = None) -> Description:
        """What a statement takes and gives, which is not carried out for that. Where no `values` are given yet, its
        columns keep these types, whatever values come.
        """
        text, word = statement.text, first_word(statement.text)
        self.check_goes_on(word)
        if values is None:
            values = [_null_of(oid) for oid in statement.oids]
        parameters = tuple(oid or TEXT.oid for oid in statement.oids)
        columns = self._columns(word, filled_with_texts(text, values) if values else text)
        statement.shapes = None if columns is None else [shape for _, shape in columns]
        return Description(parameters, None if columns is None else [shape.described(name) for name, shape in columns])

    def _columns(self, word: str, text: str) -> list[tuple[str, Shape]] | None:
        if word == "EXPLAIN":
            return [("QUERY PLAN", Shape(TEXT))]
        if word == "SHOW":
            outcome = self.run(text)
            assert outcome.rows is not None, "it shows something"
            return list(zip(outcome.rows.column_names, outcome.shapes, strict=True))
        asked = text if word in _ASKS else _returned(text) if word in _CHANGES else ""
        if not asked:
            return None
        names, kinds, *_ = self._answer(_COLUMNS, f"DESCRIBE {asked}").arrow().columns
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
        """Let go of all. What is not committed has never been."""
        self.session.close()


def _returned(text: str) -> str:
    """A SELECT that has the columns which a change returns; empty where it returns none."""
    found = _RETURNING.search(text)
    return "" if found is None else f"SELECT {found['list'].rstrip(' ;')} FROM {found['table']} LIMIT 0"


def _null_of(oid: int) -> str:
    """The NULL of a type, as SQL has it."""
    of = BY_OID.get(oid)
    return "NULL" if of is None or of not in IN_SQL else f"CAST(NULL AS {IN_SQL[of]})"
