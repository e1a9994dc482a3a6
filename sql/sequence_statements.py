"""CREATE SEQUENCE and DROP SEQUENCE."""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from dataclasses import replace

from sqlglot.tokenizer_core import Token

from ivm.catalog.names import MAIN, key
from ivm.catalog.sequence import Sequence
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import CreateSequence, Drop
from ivm.sql.words import Words

_OPTIONS = "[START n] [INCREMENT n] [MINVALUE n] [MAXVALUE n] [[NO] CYCLE]"
_FORM = f"CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] name {_OPTIONS}"
_DROP_FORM = "DROP SEQUENCE [IF EXISTS] name"
_LARGEST = 2**63 - 1


def about_sequence(tokens: Tokens[Token], source: SqlText) -> CreateSequence | Drop:
    """The statement of these tokens. ParseError for what is none; UnsupportedError for what is not supported of it."""
    words = Words(tokens, source, _FORM)
    if words.take("DROP", "SEQUENCE"):
        words.form = _DROP_FORM
        exists, name = words.take("IF", "EXISTS"), _name(words)
        cascade = words.take("CASCADE")
        words.take("RESTRICT")
        words.end()
        return Drop("SEQUENCE", name, exists, cascade)
    words.take("CREATE")
    replaces = words.take("OR", "REPLACE")
    temporary = words.take("TEMP") or words.take("TEMPORARY")
    words.take("SEQUENCE")
    exists = words.take("IF", "NOT", "EXISTS")
    if replaces and exists:
        words.fail("OR REPLACE and IF NOT EXISTS exclude each other")
    return CreateSequence(replace(_sequence(words, _name(words)), temporary=temporary), exists, replaces)


def _name(words: Words) -> str:
    """The name of a sequence; what schema it is in has been found out before, if there is one."""
    place, name = words.place, words.plain_name("a sequence")
    if not words.take("."):
        return name
    own = words.plain_name("a sequence")
    if key(name) != MAIN:
        words.source.fail(place, f"there is no schema {name!r}; CREATE SCHEMA makes one")
    return own


def _sequence(words: Words, name: str) -> Sequence:
    place, found = words.place, dict[str, int | None]()
    while words.rest:
        option, value = _option(words)
        if option in found:
            words.fail(f"{option} is given twice")
        found[option] = value
    what, increment = f"cannot create sequence {name!r}", found.get("INCREMENT", 1)
    if not increment:
        words.source.fail(place, f"{what}: INCREMENT must not be 0")
    rises = increment > 0
    least, most = found.get("MINVALUE"), found.get("MAXVALUE")
    least = (1 if rises else -_LARGEST - 1) if least is None else least
    most = (_LARGEST if rises else -1) if most is None else most
    first = found.get("START")
    start = (least if rises else most) if first is None else first
    if least >= most:
        words.source.fail(place, f"{what}: MINVALUE ({least}) must be less than MAXVALUE ({most})")
    if not least <= start <= most:
        words.source.fail(place, f"{what}: START ({start}) must be from {least} to {most}")
    return Sequence(name, start, increment, least, most, bool(found.get("CYCLE")))


def _option(words: Words) -> tuple[str, int | None]:
    """An option and its value; None for what NO stands before, 1 for CYCLE."""
    if words.take("NO"):
        for option in ("CYCLE", "MINVALUE", "MAXVALUE"):
            if words.take(option):
                return option, None
        words.fail("expected CYCLE, MINVALUE or MAXVALUE after NO")
    if words.take("CYCLE"):
        return "CYCLE", 1
    for option, between in (("START", "WITH"), ("INCREMENT", "BY"), ("MINVALUE", ""), ("MAXVALUE", "")):
        if words.take(option):
            if between:
                words.take(between)
            return option, words.whole_number(option)
    words.fail(f"unexpected {words.rest[0].text!r}")
