"""Every script does what it says, and the format is read as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.more import by_day, with_more
from tests.slt.gaps import GAPS
from tests.slt.run import HERE, Failed, check, rewrite

SCRIPTS = sorted(path.name for path in HERE.glob("*.slt"))
OVER_SHARDS = (
    "changes.slt",
    "definitions.slt",
    "errors.slt",
    "merge.slt",
    "parameters.slt",
    "schemas.slt",
    "written.slt",
)
"""A sample of those that also run over shards, half of it on a day; the others do in the slow run."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name: str) -> None:
    try:
        assert check(HERE / name) > 5
    except Exception:
        if name not in GAPS:
            raise
        pytest.xfail(GAPS[name])


@pytest.mark.parametrize(
    "name", with_more(by_day(OVER_SHARDS, 2), [name for name in SCRIPTS if name not in OVER_SHARDS])
)
def test_script_over_shards(name: str) -> None:
    assert check(HERE / name, shards=3) > 5


@pytest.mark.parametrize("name", SCRIPTS)
def test_expected_results_are_duckdbs(name: str, tmp_path: Path) -> None:
    copy = tmp_path / name
    copy.write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")
    assert not rewrite(copy), "run `python -m tests.slt --rewrite`"


def test_known_gaps_are_scripts() -> None:
    assert {*GAPS, *OVER_SHARDS} <= set(SCRIPTS)


SMALL = """# a comment
statement ok
CREATE TABLE t (a INTEGER, b DOUBLE)

statement ok
INSERT INTO t VALUES (2, 0.1), (1, 1e300), (3, NULL)

onlyif ivm
statement error no column 'x'
CREATE MATERIALIZED VIEW v AS SELECT x FROM t

statement error Parser|expected
NONSENSE

query IR rowsort first
SELECT * FROM t
----
1\t1e+300
2\t0.1
3\tNULL

query TI valuesort
SELECT 'x', a FROM t WHERE a < 3
----
1
2
x
x

halt

statement ok
NONSENSE
"""


def small(tmp_path: Path, old: str = "", new: str = "") -> Path:
    path = tmp_path / "small.slt"
    path.write_text(SMALL.replace(old, new, 1) if old else SMALL, encoding="utf-8")
    return path


def test_a_script_passes_and_stays_as_it_is(tmp_path: Path) -> None:
    assert check(small(tmp_path)) == 6
    assert not rewrite(small(tmp_path))
    assert small(tmp_path).read_text() == SMALL


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2\t0.1", "2\t0.1001", "found"),
        ("1\t1e+300\n", "", "found"),
        ("query IR", "query I", "found"),
        ("no column 'x'", "no table", "does not match"),
        ("NONSENSE", "SELECT 1", "should fail"),
        ("SELECT * FROM t", "SELECT nope FROM t", "BindError"),
    ],
)
def test_what_goes_wrong_is_found(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(Failed, match=message):
        check(small(tmp_path, old, new))


def test_rewriting_repairs_results(tmp_path: Path) -> None:
    path = small(tmp_path, "1\t1e+300\n2\t0.1\n3\tNULL", "nothing")
    assert rewrite(path)
    assert path.read_text() == SMALL


def test_an_unknown_record_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no record begins with 'NONSENSE'"):
        check(small(tmp_path, "halt\n\nstatement ok\n", ""))
