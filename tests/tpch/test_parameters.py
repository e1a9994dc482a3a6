"""The 22 queries with random legal parameters equal DuckDB over changing tables at scale factor 0.01."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import ivm
from ivm.tpch import queries
from ivm.tpch.reader import Stream, open_stream
from ivm.tpch.schema import ddl
from tests.tpch.parameters import VALIDATION, parameters, text
from tests.tpch.vocabulary import COLORS, CONTAINERS, MODES, NATIONS, TYPES

SETS = 20
FEW = 2
DRAWS = 300


@pytest.mark.parametrize("query", queries.NAMES)
def test_the_validation_parameters_give_the_text_itself(query: str) -> None:
    assert text(query, VALIDATION[query]) == queries.text(query)


@pytest.mark.parametrize("query", queries.NAMES)
def test_every_parameter_stands_in_the_text(query: str) -> None:
    drawn = parameters(query, Random(1))
    assert drawn.keys() == VALIDATION[query].keys()
    marked = text(query, {name: f"<{name}>" for name in drawn})
    for name in drawn:
        assert f"<{name}>" in marked
    assert marked.count("<") - queries.text(query).count("<") >= len(drawn)


@pytest.mark.parametrize("query", queries.NAMES)
def test_draws_are_legal_and_vary(query: str) -> None:
    rng = Random(query)
    seen: dict[str, set[str]] = {}
    for _ in range(DRAWS):
        for name, value in parameters(query, rng).items():
            seen.setdefault(name, set()).add(value)
    for name, values in seen.items():
        low, high = _RANGES.get((query, name), _RANGES.get(("", name.rstrip("12345678")), (None, None)))
        if low is not None and high is not None:
            assert all(low <= value <= high for value in values), name
        assert len(values) > 1 or name == "FRACTION"


_RANGES = {
    ("", "DATE"): ("1993-01-01", "1997-12-01"),
    ("q3", "DATE"): ("1995-03-01", "1995-03-31"),
    ("q10", "DATE"): ("1993-02-01", "1995-01-01"),
    ("q6", "DISCOUNT"): (".02", ".09"),
    ("q6", "QUANTITY"): ("24", "25"),
    ("q18", "QUANTITY"): ("312", "315"),
    ("", "BRAND"): ("Brand#11", "Brand#55"),
    ("q22", "I1"): ("10", "34"),
}


def test_several_values_of_one_query_differ() -> None:
    rng = Random(5)
    for _ in range(DRAWS):
        for query in ("q7", "q12", "q16", "q22"):
            drawn = parameters(query, rng)
            values = [value for name, value in drawn.items() if name.rstrip("12345678") != name]
            assert len(set(values)) == len(values)
        assert NATIONS[parameters("q8", rng)["NATION"]] in ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")


def test_the_words_are_those_of_the_data(larger_streams: Path) -> None:
    base = open_stream(larger_streams / "refresh").base()
    words = {word for name in base["part"]["p_name"].to_pylist() for word in name.split()}
    assert words == set(COLORS)
    assert len(COLORS) == 92
    assert set(base["part"]["p_type"].to_pylist()) <= set(TYPES)
    assert set(base["part"]["p_container"].to_pylist()) == set(CONTAINERS)
    assert set(base["lineitem"]["l_shipmode"].to_pylist()) == set(MODES)
    regions = dict(zip(*(base["region"][c].to_pylist() for c in ("r_regionkey", "r_name")), strict=True))
    nations = zip(*(base["nation"][c].to_pylist() for c in ("n_name", "n_regionkey")), strict=True)
    assert {nation: regions[region] for nation, region in nations} == NATIONS


def _sets(query: str, count: int) -> list[dict[str, str]]:
    rng = Random(f"{query} of the specification")
    return [parameters(query, rng) for _ in range(count)]


def _parts(base: dict[str, pa.Table], count: int) -> Iterator[dict[str, pa.Table]]:
    """The base snapshot in `count` batches, a share of every relation in each."""
    for part in range(count):
        bounds = {name: [table.num_rows * p // count for p in (part, part + 1)] for name, table in base.items()}
        yield {name: base[name].slice(first, last - first) for name, (first, last) in bounds.items()}


def _batches(stream: Stream) -> Iterator[dict[str, pa.Table]]:
    """A base snapshot in three parts, then changes: new orders, and old ones that go."""
    yield from _parts(stream.base(), 3)
    times = (stream.manifest.last_time - stream.manifest.first_time + 1) // 2
    yield from (batch.tables for batch in islice(stream.batches(times, coalesce=True), 2))


def _check(streams: Path, query: str, count: int) -> int:
    """Install a query with `count` sets of parameters, follow the changes; how many of the views have rows."""
    stream = open_stream(streams / "refresh")
    db = ivm.connect(compile="off")
    db.sql(ddl())
    for number, values in enumerate(_sets(query, count)):
        db.sql(f"CREATE MATERIALIZED VIEW {query}_{number} AS {text(query, values)}")
    filled: set[str] = set()
    for batch in _batches(stream):
        db.apply({name: table for name, table in batch.items() if name in queries.reads(query)})
        filled |= {verified.view for verified in db.verify() if not verified.empty}
    return len(filled)


@pytest.mark.parametrize("query", queries.NAMES)
def test_a_few_sets_of_parameters(larger_streams: Path, query: str) -> None:
    _check(larger_streams, query, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("query", queries.NAMES)
def test_many_sets_of_parameters(larger_streams: Path, query: str) -> None:
    assert _check(larger_streams, query, SETS) > 0 or query == "q18"
