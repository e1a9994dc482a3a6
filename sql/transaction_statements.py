"""BEGIN, COMMIT and ROLLBACK, read by their words."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from ivm.sql.connection_statements import Begin, Commit, Rollback
from ivm.sql.sql_text import SqlText

_ENDS: dict[str, Commit | Rollback] = {"COMMIT": Commit(), "END": Commit(), "ROLLBACK": Rollback(), "ABORT": Rollback()}
_NOISE = frozenset(["TRANSACTION", "WORK"])
_MODES = {(): False, ("READ", "WRITE"): False, ("READ", "ONLY"): True}


def about_transaction(tokens: Sequence[Token], source: SqlText) -> Begin | Commit | Rollback:
    """The statement. ParseError for one with other words, UnsupportedError for those of other systems."""
    first, *rest = [token.text.upper() for token in tokens]
    noise = rest[:1] if rest and rest[0] in _NOISE else []
    ends, more = _ENDS.get(first), tuple(rest[len(noise) :])
    if first == "START" and noise != ["TRANSACTION"]:
        source.misread(tokens[0].start, "expected TRANSACTION after START; write BEGIN")
    if ends is not None:
        if more:
            what = f"{first} takes no {' '.join(more)}; a transaction ends as a whole, and the next begins with BEGIN"
            source.refuse(tokens[-len(more)].start, what)
        return ends
    if more not in _MODES:
        what = (
            f"{' '.join(more)} is not supported; write BEGIN, BEGIN READ ONLY or BEGIN READ WRITE: every transaction "
        )
        source.refuse(tokens[-len(more)].start, f"{what}sees what was there when it began, and its own changes")
    return Begin(_MODES[more])
