"""All short histories of a sequence in a transaction: what it gives meanwhile, afterwards, and once opened again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import ivm

MOST = 3
MADE, DROPPED, NEXT = "CREATE OR REPLACE SEQUENCE {}", "DROP SEQUENCE IF EXISTS {}", "SELECT nextval('{}')"
Given = int | None
"""How many numbers a sequence has given; None: there is none."""


def histories() -> Iterator[tuple[Given, tuple[str, ...], bool]]:
    """What there is before BEGIN, statements that all succeed, and whether COMMIT follows them, or ROLLBACK."""
    for before, length, ends in product((None, 2), range(MOST + 1), (True, False)):
        for steps in product((MADE, DROPPED, NEXT), repeat=length):
            there = before is not None
            for step in steps:
                if step == NEXT and not there:
                    break
                there = step == MADE or (there and step == NEXT)
            else:
                yield before, steps, ends


def play(db: ivm.Database, name: str, before: Given, steps: tuple[str, ...], ends: bool) -> Given:
    """Go through a history, and compare each number; how many the sequence has given in the end."""
    if before is not None:
        db.sql(f"{MADE}; {NEXT}; {NEXT}".format(name, name, name))
    outside, inside, is_own = before, before, False
    db.sql("BEGIN")
    for step in steps:
        found = db.sql(step.format(name)).fetchall()
        if step != NEXT:
            inside, is_own = 0 if step == MADE else None, True
            continue
        assert inside is not None
        inside += 1
        assert found == [(inside,)], (name, before, steps)
        outside = outside if is_own else inside  # a number of one that others have is given for good
    db.sql("COMMIT" if ends else "ROLLBACK")
    return inside if ends else outside


@pytest.mark.parametrize("opened_again", [False, True])
def test_what_a_sequence_gives(opened_again: bool, tmp_path: Path) -> None:
    left = dict[str, int]()
    with ivm.connect(tmp_path / "db" if opened_again else None, compile="off", durability="off") as db:
        for number, history in enumerate(histories()):
            name = f"s{number}"
            given = play(db, name, *history)
            if given is None:
                db.sql(f"CREATE SEQUENCE {name}")
            left[name] = given or 0
            if not opened_again:
                assert db.sql(NEXT.format(name)).fetchall() == [(left[name] + 1,)], history
    if opened_again:
        with ivm.connect(tmp_path / "db", compile="off") as db:
            for (name, given), history in zip(left.items(), histories(), strict=True):
                assert db.sql(NEXT.format(name)).fetchall() == [(given + 1,)], history
    assert len(left) > 60
