"""The documentation's tables of supported and refused SQL, each row run."""

from __future__ import annotations

import re

import pytest

import ivm
from tests.house.modules import ROOT

TEXT = (ROOT / "docs" / "views.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("\n## Supported SQL\n")[2].partition("\n## ")[0]

CHANGES = (
    "INSERT INTO dept VALUES (1, 'tools', 'Bonn'), (2, 'toys', NULL), (3, 'books', 'Ulm')",
    """INSERT INTO emp VALUES (1, 1, 'ann', 100, '2019-05-06'), (2, 1, 'bob', 80.50, '2020-01-31'),
        (3, 2, 'cid', 80.50, NULL), (4, NULL, 'dan', NULL, '2020-02-29'), (5, 2, 'eve', 20, '2020-02-29')""",
    "UPDATE emp SET pay = pay / 2, dept = 3 WHERE id IN (2, 3)",
    "INSERT INTO emp VALUES (6, 3, '12', 0, '2021-12-31'), (7, 9, 'abe', 55, NULL)",
    "DELETE FROM dept WHERE id = 1",
    "UPDATE dept SET city = 'Ulm' WHERE id = 2",
    "DELETE FROM emp WHERE id IN (1, 4)",
    "DELETE FROM emp",
    "INSERT INTO emp VALUES (1, 2, 'ann', 1, '2020-01-01')",
    "DELETE FROM dept",
)


def rows(head: str) -> list[list[str]]:
    """The cells of the rows of the table whose head begins so."""
    lines = SECTION.partition(f"\n| {head} |")[2].split("\n\n")[0].splitlines()[2:]
    return [[cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def snippet(cell: str) -> str:
    found = re.fullmatch(r"`(.*)`", cell)
    assert found, f"no snippet: {cell}"
    return found[1]


SUPPORTED = [(construct, snippet(cell)) for construct, cell in rows("construct")]
REFUSED = [(construct, snippet(cell)) for construct, cell, _ in rows("refused")]


def database() -> ivm.Database:
    db = ivm.connect(compile="off")
    declared = re.search(r"```sql\n(.*?)```", SECTION, flags=re.DOTALL)
    assert declared
    db.sql(declared[1])
    return db


@pytest.mark.parametrize("text", [text for _, text in SUPPORTED], ids=[name for name, _ in SUPPORTED])
def test_supported(text: str) -> None:
    db = database()
    db.sql(f"CREATE MATERIALIZED VIEW early AS {text}")
    filled = 0
    for number, change in enumerate(CHANGES):
        if number == 3:
            db.sql(f"CREATE MATERIALIZED VIEW late AS {text}")
        db.sql(change)
        filled += any(not verified.empty for verified in db.verify())
    assert filled >= 3


@pytest.mark.parametrize("text", [text for _, text in REFUSED], ids=[name for name, _ in REFUSED])
def test_refused(text: str) -> None:
    with pytest.raises(ivm.UnsupportedError, match=r"line 1, column \d+"):
        database().sql(f"CREATE MATERIALIZED VIEW v AS {text}")


def test_the_tables_are_read() -> None:
    assert len(SUPPORTED) > 30
    assert len(REFUSED) > 5
