"""Graphs are what they are called, and made by their seed; a stream is their tables and changes, however it is cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ivm.benchmarks.graph import code, graphs
from ivm.benchmarks.graph.changes import flips
from ivm.benchmarks.graph.shapes import COLUMNS, KINDS, Shape
from ivm.benchmarks.graph.stream import GraphError, Stream, ensure, generate, open_stream
from ivm.benchmarks.graph.tables import made

SHAPES = [
    Shape("uniform", 30, 2),
    Shape("skewed", 30, 3),
    Shape("grid", 25),
    Shape("tree", 40),
    Shape("chain", 20),
    Shape("code", 100),
]


def untold(step: str, done: int, total: int) -> None:
    pass


def pairs(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]


def contents(tables: dict[str, Any]) -> dict[str, Counter[tuple[int, ...]]]:
    return {
        name: Counter(zip(*(table[column].to_pylist() for column in COLUMNS[name]), strict=True))
        for name, table in tables.items()
    }


@pytest.mark.parametrize("draw", [graphs.uniform, graphs.skewed])
def test_edges_are_drawn_once_and_to_others(draw):
    edges = pairs(draw(20, 150, np.random.default_rng(1)))
    assert len(edges) == len(set(edges)) == 150
    assert all(s != d and 0 <= s < 20 and 0 <= d < 20 for s, d in edges)


def test_more_edges_than_there_may_be_are_refused():
    with pytest.raises(ValueError, match="7 edges between 4 nodes are too many"):
        graphs.uniform(4, 7, np.random.default_rng(1))


def test_a_skewed_graph_has_hubs():
    most = [
        np.bincount(draw(1_000, 5_000, np.random.default_rng(1)).ravel()).max()
        for draw in (graphs.skewed, graphs.uniform)
    ]
    assert most[0] > 10 * most[1]


def test_a_grid_points_right_and_down():
    assert sorted(pairs(graphs.grid(3))) == [
        (0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 6), (4, 5), (4, 7), (5, 8), (6, 7), (7, 8),
    ]  # fmt: skip


def test_a_tree_has_one_parent_for_each_node_and_few_children():
    edges = pairs(graphs.tree(500, np.random.default_rng(1)))
    assert sorted(child for _, child in edges) == list(range(1, 500))
    assert all(parent < child for parent, child in edges)
    children = Counter(parent for parent, _ in edges)
    assert all(2 <= children[parent] <= 6 for parent in range(max(children)))


def test_shortcuts_are_around_the_middle_of_a_chain():
    assert pairs(graphs.chain(4)) == [(0, 1), (1, 2), (2, 3)]
    assert pairs(graphs.shortcuts(20, 3)) == [(9, 11), (8, 12), (7, 13)]
    assert len(graphs.shortcuts(8, 100)) == 3


def test_statements_are_mostly_of_one_function():
    rows = code.statements(2_000, "assigns", 1.1, np.random.default_rng(1))
    assert len(pairs(rows)) == len(set(pairs(rows)))
    local = rows[:, 0] // 24 == rows[:, 1] // 24
    assert 0.9 < local.mean() < 1
    assert 0.95 < (rows[:, 1] < rows[:, 0]).mean() < 1


@pytest.mark.parametrize("first", [0.0, 0.5, 1.0])
def test_what_goes_was_there_and_most_of_it_comes_back(first):
    rng = np.random.default_rng(2)
    there = rng.random(50) < first
    rows, diffs = flips(there, 400, rng)
    present = there.astype(int)
    for row, diff in zip(rows, diffs, strict=True):
        present[row] += diff
        assert present[row] in (0, 1)
    assert max(Counter(rows.tolist()).values()) > 2
    assert (present != there).sum() < 25


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_the_seed_decides(shape, tmp_path):
    one, same, other = (
        generate(each, 50, tmp_path / str(number), untold)
        for number, each in enumerate((shape, shape, replace(shape, seed=2)))
    )
    files = sorted(path.relative_to(one.directory) for path in one.directory.rglob("*.*"))
    assert all((one.directory / file).read_bytes() == (same.directory / file).read_bytes() for file in files)
    assert any((one.directory / file).read_bytes() != (other.directory / file).read_bytes() for file in files)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
@pytest.mark.parametrize("batch", [1, 7, 1_000])
def test_however_it_is_cut_it_ends_alike(shape, batch, tmp_path):
    stream = generate(shape, 40, tmp_path / "graph", untold)
    names = list(made(shape, 40))
    changing = [name for name in names if name != "roots"]
    present = contents(stream.base(names))
    changes = stream.changes(names)
    assert len(changes) == 40 * len(changing)
    for number, tables in enumerate(changes.commits(batch)):
        left = len(changes) - number * batch
        assert sum(table.num_rows for table in tables.values()) == min(batch, left)
        for name, table in tables.items():
            columns = [*(table[column].to_pylist() for column in COLUMNS[name]), table["_diff"].to_pylist()]
            for *row, diff in zip(*columns, strict=True):
                present[name][tuple(row)] += diff
                assert present[name][tuple(row)] in (0, 1)
    whole = contents(stream.base(names))
    for name, table in stream.changes(names).between(0, len(changes)).items():
        columns = [*(table[column].to_pylist() for column in COLUMNS[name]), table["_diff"].to_pylist()]
        for *row, diff in zip(*columns, strict=True):
            whole[name][tuple(row)] += diff
    assert present == whole
    assert all(contents(stream.base([name]))[name] for name in names)


def test_edges_with_costs_come_and_go_as_those_without(tmp_path):
    stream = generate(Shape("uniform", 30, 2), 60, tmp_path / "graph", untold)
    tables = stream.changes(["e", "w"]).between(0, 120)
    for column in ("s", "d", "_diff"):
        assert tables["e"][column].equals(tables["w"][column])


def test_nothing_is_between_what_is_empty(tmp_path):
    changes = generate(Shape("tree", 10), 0, tmp_path / "graph", untold).changes(["e", "roots"])
    assert len(changes) == 0
    assert changes.between(0, 5) == {}
    assert list(changes.commits(3)) == []


def test_a_graph_is_made_once(tmp_path):
    shape = Shape("grid", 16)
    stream = ensure(shape, 10, tmp_path, untold)
    written = (stream.directory / "graph.json").stat().st_mtime_ns
    assert ensure(shape, 10, tmp_path, untold) == stream == open_stream(stream.directory)
    assert (stream.directory / "graph.json").stat().st_mtime_ns == written
    assert ensure(shape, 11, tmp_path, untold).directory != stream.directory
    with pytest.raises(GraphError, match="is there already"):
        generate(shape, 10, stream.directory, untold)


def test_what_cannot_be_made_leaves_nothing(tmp_path):
    with pytest.raises(GraphError, match=r"cannot make uniform-4-5-1: .* too many"):
        ensure(Shape("uniform", 4, 5), 1, tmp_path, untold)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "cannot read"), ('{"format": 0}', "of format 0, not 1"), ('{"format": 1, "shape": {}}', "cannot read")],
)
def test_a_damaged_graph_says_what_to_do(text, message, tmp_path):
    stream = ensure(Shape("grid", 16), 10, tmp_path, untold)
    (stream.directory / "graph.json").write_text(text)
    with pytest.raises(GraphError, match=f"{message}.*remove"):
        open_stream(stream.directory)


def test_a_table_that_is_gone_is_named(tmp_path: Path):
    stream: Stream = ensure(Shape("grid", 16), 10, tmp_path, untold)
    (stream.directory / "base" / "e.parquet").unlink()
    with pytest.raises(GraphError, match=r"cannot read .*e\.parquet.*generate it again"):
        stream.base(["e"])


def test_each_kind_is_tried():
    assert [shape.kind for shape in SHAPES] == list(KINDS)
