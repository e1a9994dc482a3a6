"""Steps that are committed one by one: which, what became of which row, and what a run says of the best of them."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from ivm.tpch.alone import RowChange, middle, row_changes, told
from ivm.tpch.options import STREAMS
from ivm.tpch.reader import open_stream
from tests.tpch.test_cli import SEEDED, call


def changes(*rows: tuple[int, str, int]) -> pa.Table:
    """Rows of (diff, key, value)."""
    return pa.table({"k": [row[1] for row in rows], "v": [row[2] for row in rows], "_diff": [row[0] for row in rows]})


def test_a_row_that_went_is_paired_with_the_one_of_its_key_that_came() -> None:
    found = row_changes(changes((-1, "a", 1), (-1, "b", 2), (1, "b", 3), (1, "c", 1)), ["k"])
    assert found == (
        RowChange({"k": "a", "v": 1}, None),
        RowChange({"k": "b", "v": 2}, {"k": "b", "v": 3}),
        RowChange(None, {"k": "c", "v": 1}),
    )


def test_without_a_key_rows_are_paired_by_what_they_have_in_common() -> None:
    found = row_changes(changes((-1, "a", 1), (-1, "b", 2), (1, "b", 3), (1, "a", 4)))
    assert [(row.before, row.after) for row in found] == [
        ({"k": "a", "v": 1}, {"k": "a", "v": 4}),
        ({"k": "b", "v": 2}, {"k": "b", "v": 3}),
    ]
    assert len(row_changes(changes((-1, "a", 1), (1, "b", 2)))) == 2
    assert len(row_changes(pa.table({"sum": [1, 2], "_diff": [-1, 1]}))) == 1


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, {"a": 1, "b": "x", "c": 2.5}, "new: a 1, b x, …"),
        ({"a": Decimal("1234.50")}, None, "gone: a 1,234.50"),
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5, "c": 3}, "a 1, c 3: b 2 → 5"),
        ({"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 3, "c": 4}, "a 1 → 2, and 2 more columns"),
    ],
)
def test_what_became_of_a_row_in_a_line(before: dict[str, object], after: dict[str, object], said: str) -> None:
    assert told(RowChange(before, after), 2) == said


def test_the_middle_is_a_batch_for_each_time(streams: Path) -> None:
    opened = open_stream(streams / "refresh")
    alone = middle(opened.manifest, 0)
    assert len(alone) == 10
    cuts = [(batch.first_time, batch.last_time) for batch in opened.batches(700, ["orders"], alone=alone)]
    assert [first for first, last in cuts if first in alone] == list(alone)
    assert all(first == last for first, last in cuts if first in alone)
    assert cuts[0][0] == opened.manifest.first_time
    assert cuts[-1][1] == opened.manifest.last_time
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(cuts))
    assert max(last - first for first, last in cuts) == 699
    for after in (0, 1, opened.manifest.last_time - 3, opened.manifest.last_time):
        times = middle(opened.manifest, after)
        assert all(after < time <= opened.manifest.last_time for time in times)
    assert not middle(opened.manifest, opened.manifest.last_time)


@pytest.mark.parametrize("stream", STREAMS)
def test_a_run_begins_with_one_change_and_ends_with_what_to_try(streams: Path, stream: str) -> None:
    ran = call("run", *SEEDED, "--stream", stream, "--views", "q1,q13", "--data", str(streams))
    assert ran.exit_code == 0, ran.output
    first = {
        "load": "1 order line comes in:",
        "refresh": " order lines",
        "churn": " changes:",
        "window": "1 order line comes in, 1 order line goes:",
    }
    lines = ran.stdout.splitlines()
    assert first[stream] in lines[2]
    assert any(line.startswith("That changes ") for line in lines)
    assert any(line.startswith("It took ") for line in lines)
    assert "Try next" in lines
    verified = call("verify", *SEEDED, "--stream", stream, "--views", "q1", "--data", str(streams))
    assert "Try next" not in verified.stdout
