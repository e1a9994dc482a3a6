"""COPY .. FROM STDIN and COPY .. TO STDOUT, as Postgres writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ivm.serve.postgres.errors import FEATURE, SqlStateError

_NAME = r'(?:"(?:[^"]|"")*"|[\w$]+)'
_COPY = re.compile(
    rf"""COPY\s+(?:\((?P<query>.*)\)|(?P<table>{_NAME}(?:\.{_NAME})*)\s*(?:\((?P<columns>[^()]*)\))?)\s*
    (?P<way>FROM\s+STDIN|TO\s+STDOUT)\b\s*(?P<rest>.*)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_OPTION = re.compile(
    r"""\s*(?P<name>FORMAT|DELIMITERS?|NULL|HEADER|QUOTE|ESCAPE|ENCODING|FREEZE|CSV|BINARY|TEXT)\s*(?:AS\s+|=\s*)?
    (?P<value>E?'(?:[^']|'')*'|TRUE|FALSE|ON|OFF|MATCH|CSV|TEXT|BINARY|1|0)?\s*,?""",
    re.IGNORECASE | re.VERBOSE,
)
FORMATS = ("text", "csv", "binary")
_NO = ("false", "off", "0")


@dataclass(frozen=True, slots=True)
class Copy:
    """A COPY by the connection itself: of a table, by its name as written, and its columns, or of a query."""

    comes: bool
    table: str
    columns: str
    query: str
    format: str = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = ""

    @property
    def asked(self) -> str:
        """The SELECT of what goes."""
        return self.query or f"SELECT {self.columns or '*'} FROM {self.table}"


def copy_of(text: str) -> Copy | None:
    """The statement; None for any other text. SqlStateError for options that there are not."""
    found = _COPY.fullmatch(text.strip().rstrip(";").rstrip())
    if found is None:
        return None
    said = _options(found["rest"].strip())
    form = said.get("format", "text").lower()
    if form not in FORMATS:
        raise SqlStateError("22023", f"cannot copy in format {form!r}; text, csv and binary are known")
    is_csv = form == "csv"
    copy = Copy(
        found["way"].upper().startswith("FROM"), found["table"] or "", found["columns"] or "", found["query"] or "",
        form, said.get("delimiter", "," if is_csv else "\t"), said.get("null", "" if is_csv else "\\N"),
        said.get("header", "false").lower() not in _NO, said.get("quote", '"'), said.get("escape", ""),
    )  # fmt: skip
    if copy.comes and copy.query:
        raise SqlStateError("42601", "cannot copy into a query; name a table, and its columns")
    if any(len(each) != 1 for each in (copy.delimiter, copy.quote)) or len(copy.escape) > 1:
        raise SqlStateError("22023", "DELIMITER, QUOTE and ESCAPE of a COPY are one character each")
    return copy


def _options(text: str) -> dict[str, str]:
    inner = re.sub(r"^WITH\b\s*", "", text, flags=re.IGNORECASE)
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    said, at = dict[str, str](), 0
    while at < len(inner.strip()):
        found = _OPTION.match(inner, at)
        if found is None:
            raise SqlStateError(
                FEATURE, f"cannot copy with {inner[at:].strip()!r}; FORMAT, DELIMITER, NULL, HEADER, QUOTE and ESCAPE "
                "are known",
            )  # fmt: skip
        at, name, value = found.end(), found["name"].lower().removesuffix("s"), found["value"] or ""
        if name in FORMATS:
            name, value = "format", name
        said[name] = _bare(value) if value else "true"
    return said


def _bare(value: str) -> str:
    if value[:1] in "eE" and value[1:2] == "'":
        return value[2:-1].encode().decode("unicode_escape")
    return value[1:-1].replace("''", "'") if value.startswith("'") else value
