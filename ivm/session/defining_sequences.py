"""What CREATE SEQUENCE and DROP SEQUENCE do. The caller is the only one who creates or drops; see `Core.defining`."""

from __future__ import annotations

from ivm.catalog.errors import BindError, UnsupportedError
from ivm.catalog.names import key
from ivm.catalog.sequence import SEQUENCES
from ivm.session.core import Core
from ivm.session.reserved import check_reserved
from ivm.sql.statements import CreateSequence, Drop


def create_sequence(core: Core, statement: CreateSequence) -> None:
    """Have a sequence from now on, and the table of how far each has come."""
    catalog, sequence = core.catalog.fixed(), statement.sequence
    if sequence.key in catalog.sequences:
        if statement.if_not_exists:
            return
        if not statement.replace:
            what = "there is one of that name; drop it, or write CREATE OR REPLACE"
            raise BindError(f"cannot create sequence {sequence.name!r}: {what}")
    check_reserved(sequence.name)
    catalog.add_sequence(sequence)
    with core.lock:
        is_first = catalog.find(SEQUENCES.name) is None
        made = core.engine.tables.made(catalog.add_table(SEQUENCES)) if is_first else None

        def carry_out() -> None:
            if made is not None:
                core.engine.put_table(SEQUENCES.name, made)
            core.catalog.become(catalog)

        core.carry_out(carry_out, catalog, {SEQUENCES.name: None} if is_first else {})
    core.numbers.forget(sequence.key)


def drop_sequence(core: Core, statement: Drop) -> None:
    """Forget a sequence. BindError if there is none, or a DEFAULT takes its numbers."""
    catalog, name = core.catalog.fixed(), key(statement.name)
    if statement.if_exists and name not in catalog.sequences:
        return
    if statement.cascade:
        raise UnsupportedError("DROP SEQUENCE .. CASCADE is not supported: it drops tables; drop their DEFAULT first")
    catalog.drop_sequence(statement.name)

    def carry_out() -> None:
        core.catalog.become(catalog)

    with core.lock:
        core.carry_out(carry_out, catalog)
    core.numbers.forget(name)
