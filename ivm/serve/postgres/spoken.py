"""Statements that Postgres has and the engine has not, or not so: about transactions, settings, and what a connection
holds. Clients make them unasked; what they mean here is done, and what means nothing here is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyarrow as pa

from ivm.catalog.schema import View
from ivm.serve.postgres.errors import (
    FEATURE,
    IN_TRANSACTION,
    NO_TRANSACTION,
    UNKNOWN_NAME,
    UNKNOWN_STATEMENT,
    SqlStateError,
    notice,
)
from ivm.serve.postgres.messages import parameter_status
from ivm.serve.postgres.outcome import Outcome, of_texts
from ivm.serve.postgres.types import TEXT, Shape
from ivm.serve.postgres.variables import TOLD, Variables
from ivm.session.core import Core
from ivm.session.database import Database
from ivm.session.script import without_comments
from ivm.session.transactions import Begun, Transactions
from ivm.sql.parse_settings import SEARCH_PATH


class Spoken:
    """What such statements work on: one connection's own things."""

    def __init__(self, db: Database, core: Core, transactions: Transactions, variables: Variables) -> None:
        self.db = db
        self.core = core
        self.transactions = transactions
        self.variables = variables
        self.prepared: dict[str, object] = {}
        """The statements that the protocol has prepared, by their names."""
        self.together: Begun | None = None
        """What was begun for statements that take effect together, though nobody has said BEGIN."""
        self.repeats = False
        """Whether the transaction that is open is to see the same from its first statement to its last."""

    @property
    def is_together(self) -> bool:
        """Whether that is what is open now."""
        return self.together is not None and self.transactions.begun is self.together

    def run(self, word: str, text: str) -> Outcome | None:
        """Carry out a statement that begins with a word; None for one that is the engine's."""
        spoken = _WORDS.get(word)
        return None if spoken is None else spoken(self, without_comments(text).rstrip().rstrip(";").rstrip())

    def shown(self, name: str) -> str | None:
        """What a setting is; None for one that there is not."""
        if name.lower() in ("timezone", "time zone"):
            return self.core.settings.zone
        if name.lower() == SEARCH_PATH:
            return ", ".join((*self.core.settings.path, "main"))
        return self.variables.get(name)


_MODE = (
    r"(?:ISOLATION\s+LEVEL\s+(?:REPEATABLE\s+READ|READ\s+COMMITTED|READ\s+UNCOMMITTED)"
    r"|READ\s+(?:ONLY|WRITE)|(?:NOT\s+)?DEFERRABLE)"
)
_MODES = rf"(?P<modes>(?:\s*,?\s*{_MODE})*)"
_BEGIN = re.compile(rf"(?:BEGIN(?:\s+(?:TRANSACTION|WORK))?|START\s+TRANSACTION){_MODES}", re.IGNORECASE)
_END = re.compile(r"\w+(?:\s+(?:TRANSACTION|WORK))?(?:\s+AND\s+NO\s+CHAIN)?", re.IGNORECASE)
_SET_MODES = re.compile(rf"SET\s+(?P<all>SESSION\s+CHARACTERISTICS\s+AS\s+)?TRANSACTION\s{_MODES}", re.IGNORECASE)
_SET = re.compile(r"SET\s+(?:(?:SESSION|LOCAL)\s+)?([\w.]+)\s*(?:=|\s+TO\s)\s*(.*)", re.IGNORECASE | re.DOTALL)
_SET_ZONE = re.compile(r"SET\s+(?:(?:SESSION|LOCAL)\s+)?TIME\s+ZONE\s+(.*)", re.IGNORECASE | re.DOTALL)
_SET_NAMES = re.compile(r"SET\s+NAMES\s+(.*)", re.IGNORECASE)
_SET_USER = re.compile(
    r"(?:RE)?SET\s+(?:(?:SESSION|LOCAL)\s+)?(?:ROLE|SESSION\s+AUTHORIZATION)(?:\s+(?:NONE|DEFAULT))?", re.IGNORECASE
)
_ONE = re.compile(r"\w+\s+(?:PREPARE\s+)?(.*)", re.DOTALL)
_NONE_BEGUN = (notice(NO_TRANSACTION, "there is no transaction in progress"),)
_SAVEPOINT = re.compile(r"(SAVEPOINT|RELEASE)(?:\s+SAVEPOINT)?\s+(\S+)", re.IGNORECASE)
_PART = r'"[^"]+"|[\w$]+'
_REFRESH = re.compile(
    rf"REFRESH\s+MATERIALIZED\s+VIEW\s+(?:CONCURRENTLY\s+)?((?:{_PART})(?:\s*\.\s*(?:{_PART}))*)(?:\s+WITH\s+DATA)?",
    re.IGNORECASE,
)
_NAMED = r"(?P<name>'(?:[^']|'')*'|\"[^\"]+\"|[\w$]+)"
_ACKNOWLEDGE = re.compile(rf"ACKNOWLEDGE\s+{_NAMED}\s+AS\s+OF\s+'?(?P<time>\d+)'?", re.IGNORECASE)
_FORGET = re.compile(rf"DROP\s+SUBSCRIPTION\s+{_NAMED}", re.IGNORECASE)
_BACK = re.compile(r"ROLLBACK(?:\s+(?:TRANSACTION|WORK))?\s+TO(?:\s+SAVEPOINT)?\s+(\S+)", re.IGNORECASE)


def _begin(self: Spoken, text: str) -> Outcome:
    found = _BEGIN.fullmatch(text)
    if found is None:
        raise SqlStateError(
            FEATURE, f"cannot begin so: {text}; write BEGIN, BEGIN READ ONLY or ISOLATION LEVEL REPEATABLE READ: "
            "each transaction sees what was there when it began, and fails if others have changed the same rows",
        )  # fmt: skip
    if self.transactions.begun is not None and not self.is_together:
        return Outcome("BEGIN", notices=(notice(IN_TRANSACTION, "there is already a transaction in progress"),))
    modes = found["modes"].upper().split()
    only = "ONLY" in modes or (self.variables.only_reads and "WRITE" not in modes)
    self.repeats = "REPEATABLE" in modes
    begun, self.together = self.transactions.begun, None
    if begun is not None:
        begun.renew()
        if begun.is_open and only:
            raise SqlStateError(IN_TRANSACTION, "BEGIN READ ONLY comes too late: statements before it belong to it")
        if not begun.is_open:
            self.transactions.rollback()
    if self.transactions.begun is None:  # else what came before in the same text belongs to it, as in Postgres
        self.transactions.begin(read_only=only)
    return Outcome("BEGIN")


def _commit(self: Spoken, text: str) -> Outcome:
    _check_end(text)
    begun = self.transactions.begun
    if begun is None:
        return Outcome("COMMIT", notices=_NONE_BEGUN)
    if begun.error:
        self.transactions.rollback()
        return Outcome("ROLLBACK")
    was_together = self.is_together
    self.db.commit()
    return Outcome("COMMIT", notices=_NONE_BEGUN if was_together else ())


def _rollback(self: Spoken, text: str) -> Outcome:
    back = _BACK.fullmatch(text)
    if back is not None:
        _begun(self, "ROLLBACK TO SAVEPOINT").restore(_folded(back[1]))
        return Outcome("ROLLBACK")
    _check_end(text)
    notices = _NONE_BEGUN if self.transactions.begun is None or self.is_together else ()
    if self.transactions.begun is not None:
        self.transactions.rollback()
    return Outcome("ROLLBACK", notices=notices)


def _check_end(text: str) -> None:
    if _END.fullmatch(text) is None:
        raise SqlStateError(FEATURE, f"cannot end a transaction so: {text}; write COMMIT or ROLLBACK")


def _savepoint(self: Spoken, text: str) -> Outcome:
    found = _SAVEPOINT.fullmatch(text)
    if found is None:
        raise SqlStateError("42601", f"expected the name of a savepoint behind {text}")
    word, begun = found[1].upper(), _begun(self, found[1].upper())
    (begun.save if word == "SAVEPOINT" else begun.release)(_folded(found[2]))
    return Outcome(word)


def _begun(self: Spoken, what: str) -> Begun:
    begun = self.transactions.begun
    if begun is None or self.is_together:
        raise SqlStateError(NO_TRANSACTION, f"{what} is for transactions; BEGIN one first")
    return begun


def _folded(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.lower()


def _set(self: Spoken, text: str) -> Outcome | None:
    if (modes := _SET_MODES.fullmatch(text)) is not None:
        words = modes["modes"].upper().split()
        self.repeats = self.repeats or "REPEATABLE" in words
        if "ONLY" in words or "WRITE" in words:
            self.variables.set(
                f"{'default_' if modes['all'] else ''}transaction_read_only", "on" if "ONLY" in words else "off"
            )
        return Outcome("SET")
    if _SET_USER.fullmatch(text) is not None:
        return Outcome("SET")
    if (zone := _SET_ZONE.fullmatch(text)) is not None:
        return _to_engine(self, f"SET TIME ZONE {zone[1]}")
    if (names := _SET_NAMES.fullmatch(text)) is not None:
        self.variables.set("client_encoding", _bare(names[1]))
        return Outcome("SET")
    found = _SET.fullmatch(text)
    if found is None:
        return None
    name, value = found[1], found[2].strip()
    if name.lower() == SEARCH_PATH:
        return _set_path(self, value)
    if name.lower() == "timezone":
        return _to_engine(self, f"SET TimeZone = {value}")
    if not self.variables.knows(name):
        return None
    return _changed(self, name, None if value.upper() == "DEFAULT" else _bare(value))


def _set_path(self: Spoken, value: str) -> Outcome:
    """Schemas that there are not are passed over, as Postgres does; "$user" and pg_catalog too."""
    names = [each.strip().strip("'\"") for part in value.split(",") for each in part.strip().strip("'").split(",")]
    settings = self.core.settings
    if value.upper() == "DEFAULT":
        settings.path = ()
        return Outcome("SET")
    found = (settings.names.schema_of(name) for name in names if name)
    settings.path = tuple(dict.fromkeys(each for each in found if each not in (None, "main", "temp")))
    return Outcome("SET")


def _to_engine(self: Spoken, text: str) -> Outcome:
    self.db.sql(text)
    return Outcome("SET", notices=(parameter_status("TimeZone", self.core.settings.zone),))


def _changed(self: Spoken, name: str, value: str | None) -> Outcome:
    self.variables.set(name, value)
    told = next((each for each in TOLD if each.lower() == name.lower()), None)
    status = () if told is None else (parameter_status(told, self.variables.get(told) or ""),)
    return Outcome("SET", notices=status)


def _bare(value: str) -> str:
    return value[1:-1].replace("''", "'") if value[:1] == value[-1:] == "'" and len(value) > 1 else value.strip('"')


def _reset(self: Spoken, text: str) -> Outcome | None:
    name = _rest(text)
    if _SET_USER.fullmatch(text) is not None:
        return Outcome("RESET")
    if name.upper() == "ALL":
        self.variables.reset()
        self.core.settings.values.clear()
        self.core.settings.path = ()
        return Outcome("RESET", notices=(parameter_status("TimeZone", self.core.settings.zone),))
    if name.lower() == SEARCH_PATH:
        self.core.settings.path = ()
        return Outcome("RESET")
    if not self.variables.knows(name):
        return None
    self.variables.set(name, None)
    return Outcome("RESET")


def _show(self: Spoken, text: str) -> Outcome | None:
    name = " ".join(_rest(text).split()).strip('"')
    if name.upper() == "ALL":
        found = {**self.variables.all(), "TimeZone": self.core.settings.zone, SEARCH_PATH: self.shown(SEARCH_PATH)}
        rows = pa.table({
            "name": list(found), "setting": list(found.values()), "description": pa.array([""] * len(found)),
        })  # fmt: skip
        return Outcome("SHOW", rows, [Shape(TEXT)] * 3)
    name = {"transaction isolation level": "transaction_isolation", "time zone": "TimeZone"}.get(name.lower(), name)
    value = self.shown(name)
    return None if value is None else of_texts(name, [value], "SHOW")


def _discard(self: Spoken, text: str) -> Outcome:
    if self.transactions.begun is not None and _rest(text).upper() == "ALL":
        raise SqlStateError(IN_TRANSACTION, "DISCARD ALL cannot run within a transaction; COMMIT or ROLLBACK first")
    if _rest(text).upper() == "ALL":
        _reset(self, "RESET ALL")
        self.prepared.clear()
        self.core.settings.prepared.clear()
    return Outcome(f"DISCARD {_rest(text).upper()}")


def _deallocate(self: Spoken, text: str) -> Outcome | None:
    name = _rest(text).strip('"')
    if name.upper() == "ALL":
        self.prepared.clear()
        self.core.settings.prepared.clear()
        return Outcome("DEALLOCATE ALL")
    if self.prepared.pop(name, None) is not None:
        return Outcome("DEALLOCATE")
    if name.lower() not in self.core.settings.prepared:
        raise SqlStateError(UNKNOWN_STATEMENT, f"there is no prepared statement {name!r}")
    return None


def _refresh(self: Spoken, text: str) -> Outcome:
    """A materialized view is up to date always, if it is one."""
    found = _REFRESH.fullmatch(text)
    if found is None:
        raise SqlStateError("42601", f"cannot carry out {text}; write REFRESH MATERIALIZED VIEW, and a name")
    parts = [each.strip('"') for each in re.findall(_PART, found[1])]
    names = self.transactions.names
    name = names.found(parts)
    entry = None if name is None else names.catalog.find(name)
    if not isinstance(entry, View) or not entry.maintained:
        raise SqlStateError("42P01", f"cannot refresh {found[1]}: there is no materialized view of this name")
    return Outcome("REFRESH MATERIALIZED VIEW")


def _acknowledge(self: Spoken, text: str) -> Outcome:
    """What `Subscription.acknowledge` does, at once, of whoever listens by a name."""
    found = _ACKNOWLEDGE.fullmatch(text)
    if found is None:
        raise SqlStateError("42601", f"cannot carry out {text[:60]}; write ACKNOWLEDGE name AS OF time")
    self.db.acknowledge(_unquoted(found["name"]), int(found["time"]))
    return Outcome("ACKNOWLEDGE")


def _drop(self: Spoken, text: str) -> Outcome | None:
    """DROP SUBSCRIPTION; what else is dropped is the engine's."""
    found = _FORGET.fullmatch(text)
    if found is None:
        return None
    self.db.forget_subscription(_unquoted(found["name"]))
    return Outcome("DROP SUBSCRIPTION")


def _unquoted(name: str) -> str:
    return name[1:-1].replace("''", "'") if name[0] in "'\"" else name


def _nothing(self: Spoken, text: str) -> Outcome:
    """LISTEN, and LOCK: nobody notifies, and a transaction sees nobody else."""
    return Outcome(text.split(maxsplit=1)[0].upper())


def _refused(self: Spoken, text: str) -> Outcome:
    word = text.split(maxsplit=1)[0].upper()
    raise SqlStateError(FEATURE, f"{word} is not supported; who is to hear of changes asks SUBSCRIBE TO a view")


def _rest(text: str) -> str:
    found = _ONE.fullmatch(text)
    if found is None:
        raise SqlStateError(UNKNOWN_NAME, f"expected a name behind {text}")
    return found[1].strip()


_WORDS: Mapping[str, Callable[[Spoken, str], Outcome | None]] = {
    "BEGIN": _begin, "START": _begin, "COMMIT": _commit, "END": _commit, "ROLLBACK": _rollback, "ABORT": _rollback,
    "SAVEPOINT": _savepoint, "RELEASE": _savepoint, "SET": _set, "RESET": _reset, "SHOW": _show, "DISCARD": _discard,
    "DEALLOCATE": _deallocate, "LISTEN": _nothing, "UNLISTEN": _nothing, "NOTIFY": _refused, "REFRESH": _refresh,
    "ACKNOWLEDGE": _acknowledge, "DROP": _drop,
}  # fmt: skip
"""By the words that statements begin with."""
