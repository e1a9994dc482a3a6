"""How the 22 TPC-H views are distributed at the sizes of scale factor 1: what is sent where, level by level.

`IVM_REWRITE_GOLDENS=1 pytest tests/distribute` rewrites the files; read the difference before you commit it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

import ivm
from ivm.cluster.driver.explain import distributed_text
from ivm.cluster.protocol.placing import placement_of
from ivm.distribute.distribute import Distributed, distribute
from ivm.distribute.exchange import Channels
from ivm.session.database import core_of
from ivm.sql.bind import bind
from ivm.tpch.queries import NAMES, text
from ivm.tpch.schema import ddl
from ivm.transform.pipeline import optimize

GOLDENS = Path(__file__).parent / "goldens"
SIZES = {
    "lineitem": 6e6, "orders": 1.5e6, "partsupp": 8e5, "part": 2e5, "customer": 1.5e5, "supplier": 1e4,
    "nation": 25.0, "region": 5.0,
}  # fmt: skip
MOST_LEVELS, MOST_LEVELS_OF_MANY = 5, 7
MANY = 128


@cache
def distributed(name: str, shards: int = 8) -> Distributed:
    """How a view is distributed over so many shards."""
    db = ivm.connect(compile="off")
    db.sql(ddl())
    catalog = core_of(db).catalog
    placed = {table.name: (placement_of(table), 1) for table in catalog.tables}
    relation = optimize(bind(text(name), catalog, "duckdb").relation)
    return distribute(relation, placed, SIZES, Channels(), shards)


@pytest.mark.parametrize("name", NAMES)
def test_a_view_is_distributed_as_before(name):
    compare(distributed_text(distributed(name)) + "\n", GOLDENS / f"{name}.txt")


def compare(found: str, golden: Path) -> None:
    """A text with the one that a file has."""
    if os.environ.get("IVM_REWRITE_GOLDENS", "") not in ("", "0"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def test_what_is_sent_over_many_shards_is_as_before():
    lines = []
    for name in NAMES:
        text = distributed_text(distributed(name, MANY)).splitlines()
        lines += [name, *(f"  {line}" for line in text if line.startswith(("levels", "exchange", "view")))]
    compare("\n".join(lines) + "\n", GOLDENS / "many.txt")


def test_no_view_needs_many_levels():
    assert max(distributed(name).level for name in NAMES) <= MOST_LEVELS
    assert max(distributed(name, MANY).level for name in NAMES) <= MOST_LEVELS_OF_MANY


def test_equal_fragments_are_one_whoever_asks():
    channels = Channels()
    for name in NAMES:
        for channel in distributed(name).channels:
            assert channels.channel(channel).name == channel.name
