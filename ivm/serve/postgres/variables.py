"""What SET sets and SHOW shows of a connection, under the names that Postgres's clients know."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ivm.arguments import period
from ivm.catalog.errors import TypeMismatchError
from ivm.serve.postgres.errors import BAD_VALUE, SqlStateError

VERSION = "16.0"
"""The version of Postgres whose protocol, and names of what there is, clients may count on."""
TOLD = (
    "server_version", "server_encoding", "client_encoding", "application_name", "is_superuser", "session_authorization",
    "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings",
)  # fmt: skip
"""Those of which a client is told when it connects, and when they change."""
_FIXED = {
    "server_version": VERSION, "server_version_num": "160000", "server_encoding": "UTF8", "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY", "IntervalStyle": "postgres", "integer_datetimes": "on", "bytea_output": "hex",
    "standard_conforming_strings": "on", "transaction_isolation": "repeatable read", "max_identifier_length": "63",
    "default_transaction_isolation": "repeatable read", "lc_collate": "C", "lc_ctype": "C", "block_size": "8192",
    "max_index_keys": "32",
}  # fmt: skip
"""Those that are as they are. A client may say what they are already."""
_SAME = {
    "client_encoding": ("utf8", "utf-8", "unicode"), "datestyle": ("iso",), "default_transaction_isolation": (
        "read committed", "read uncommitted"), "transaction_isolation": ("read committed", "read uncommitted"),
}  # fmt: skip
"""What means the same, or less than what holds."""
_FREE = {
    "application_name": "", "extra_float_digits": "1", "client_min_messages": "notice", "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0", "statement_timeout": "0",
    "default_transaction_read_only": "off", "transaction_read_only": "off", "escape_string_warning": "on",
    "row_security": "on", "synchronous_commit": "on", "work_mem": "4MB", "jit": "off", "lc_messages": "C",
    "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C", "log_statement": "none", "xmloption": "content",
    "enable_seqscan": "on", "constraint_exclusion": "partition", "check_function_bodies": "on", "bytes_output": "hex",
    "default_tablespace": "", "default_table_access_method": "heap", "default_transaction_deferrable": "off",
}  # fmt: skip
"""Those that may be set to anything, and what they are at first."""
_OF_ENGINE = {"timezone": "TimeZone", "search_path": "search_path"}
_NAMES = {name.lower(): name for name in (*_FIXED, *_FREE, *_OF_ENGINE.values())}
_ON = frozenset(["on", "true", "1", "yes"])
_MILLIS = re.compile(r"\d+")


class Variables:
    """Those of one connection. What the engine knows itself, its time zone and search path, is asked of it."""

    def __init__(self, user: str) -> None:
        self._first = {**_FREE, "session_authorization": user, "is_superuser": "on"}
        self._values = dict(self._first)

    def knows(self, name: str) -> bool:
        """Whether this is one of those that are here; one with a dot in its name is the client's own."""
        return (name.lower() in _NAMES and name.lower() not in _OF_ENGINE) or "." in name or name in self._values

    def start(self, name: str, value: str) -> None:
        """Have it be so at first, as a client says when it connects. SqlStateError for what it cannot be."""
        value = value.strip("'")
        self.set(name, value)
        self._first[_called(name)] = value

    def set(self, name: str, value: str | None) -> None:
        """Let it be so, or as it was at first. SqlStateError for what it cannot be."""
        called = _called(name)
        if value is None:
            self._values[called] = self._first.get(called, "")
            return
        fixed = _FIXED.get(called)
        if fixed is None:
            if called == "statement_timeout":
                _seconds(value)
            self._values[called] = value
        elif not _is_same(called.lower(), value.lower(), fixed.lower()):
            raise SqlStateError(BAD_VALUE, f"cannot set {name} to {value!r}: it is {fixed!r} here; leave it out")

    def reset(self) -> None:
        """Let all be as at first."""
        self._values = dict(self._first)

    def get(self, name: str) -> str | None:
        """What it is; None for one that there is not."""
        called = _called(name)
        return _FIXED.get(called, self._values.get(called))

    def all(self) -> Mapping[str, str]:
        """All that are here."""
        return {**_FIXED, **self._values}

    @property
    def only_reads(self) -> bool:
        """Whether a transaction that does not say otherwise is READ ONLY."""
        return self._values["default_transaction_read_only"].lower() in _ON

    @property
    def seconds(self) -> float:
        """How long a statement may take by what the client has set; 0: as long as the server lets it."""
        return _seconds(self._values["statement_timeout"])


def _called(name: str) -> str:
    return _NAMES.get(name.lower(), name.lower())


def _is_same(name: str, value: str, fixed: str) -> bool:
    return value == fixed or any(value.startswith(each) for each in _SAME.get(name, ()))


def _seconds(value: str) -> float:
    """Of a time, in milliseconds if it names no unit."""
    if _MILLIS.fullmatch(value.strip()):
        return int(value) / 1000
    try:
        return period(value, "statement_timeout")
    except TypeMismatchError as error:
        raise SqlStateError(BAD_VALUE, str(error)) from error
