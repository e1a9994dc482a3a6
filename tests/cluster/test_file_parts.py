"""Queries over files in parts: the parts together are what DuckDB answers at once, and what is no such query is known."""

from __future__ import annotations

import json
import os
import random
from collections import Counter

import duckdb
import pytest

from ivm.catalog.errors import Error, NumericError
from ivm.cluster.protocol.terms import Unlike
from ivm.cluster.queries import file_parts
from ivm.cluster.queries.file_parts import parts_of, rows
from ivm.cluster.queries.file_queries import file_query
from ivm.duck import Use, answer, connection


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("files")
    with duckdb.connect() as duck:

        def write(query, name, options=""):
            (found / name).parent.mkdir(parents=True, exist_ok=True)
            duck.execute(
                f"COPY ({query}) TO '{found / name}' ({options})" if options else f"COPY ({query}) TO '{found / name}'"
            )

        write(
            "SELECT i AS id, 'x' || i AS s, i * 1.25 AS d FROM range(10000) t(i)",
            "large.parquet",
            "ROW_GROUP_SIZE 2048",
        )
        for part in range(3):
            columns = f"{part} * 10 + i AS id, 'é' || i AS s" + (", true AS more" if part == 2 else "")
            write(f"SELECT {columns} FROM range(5) t(i)", f"small/y={part}/{part}.parquet")
            write(f"SELECT {part} * 10 + i AS id, 'a, b' AS s FROM range({part + 1}) t(i)", f"{part}.csv")
        write("SELECT 1 AS filename, 2 AS file_row_number, 'q' AS \"user id\"", "names.parquet")
        write("SELECT 1 AS id WHERE false", "empty.parquet")
    (found / "semicolons.csv").write_text("id;s\n1;x\n2;\n")
    (found / "plain.csv").write_text("id,s\n1,x\n")
    (found / "headless.csv").write_text("7,x\n8,\n")
    return found


def written(folder, text):
    return text.replace("@", f"{folder}/")


QUERIES = [
    "SELECT * FROM read_parquet('@large.parquet')",
    "SELECT d, upper(s) || nullif(id, 7) AS u, CASE WHEN id > 9 THEN 1 END FROM read_parquet('@large.parquet') WHERE id % 3 = 0",
    "FROM '@large.parquet'",
    'SELECT "é".b FROM (SELECT large.s AS b FROM \'@large.parquet\') AS "é"',
    "SELECT f.a FROM (SELECT * FROM read_parquet(['@large.parquet', '@empty.parquet'])) AS f(a)",
    "SELECT read_parquet.id FROM read_parquet('@large.parquet') WHERE s <> ') \"x'",
    "SELECT * FROM read_parquet('@small/*/*.parquet')",
    "SELECT * FROM read_parquet('@small')",
    "SELECT y, * EXCLUDE (y), more FROM read_parquet('@small/**/*.parquet', union_by_name = true, hive_partitioning = true)",
    "SELECT * FROM read_parquet('@names.parquet')",
    "SELECT * FROM read_csv('@semi*.csv', columns = {'id': 'BIGINT', 's': 'VARCHAR'}, delim = ';', header = true)",
    "SELECT CAST(id AS BIGINT) AS id FROM read_csv('@?.csv', columns = {'id': 'INTEGER', 's': 'VARCHAR'}) AS file(id, s)",
    "SELECT * FROM read_csv(['@plain.csv', '@headless.csv'], columns = {'id': 'BIGINT', 's': 'VARCHAR'})",
    "SELECT id, s FROM '@0.csv'",
]


@pytest.mark.parametrize("query", QUERIES)
def test_parts_together_are_the_whole(query, folder, monkeypatch):
    monkeypatch.setattr(file_parts, "_LEAST_BYTES", 1)
    text = written(folder, query)
    found = parts_of(text, 4)
    assert found is not None
    told = [row for argument in found.arguments for batch in rows(json.loads(argument)) for row in batch.to_pylist()]
    with connection(Use.OPEN) as duck:
        whole = answer(duck, text).to_pylist()
    assert Counter(map(repr, told)) == Counter(map(repr, whole))
    files = {each[0] for argument in found.arguments for each in json.loads(argument)["files"]}
    assert found.bytes == sum(os.path.getsize(each) for each in files)
    assert len(found.arguments) > 1 or found.bytes < 2000


def test_a_large_file_is_shared_by_row_groups(folder, monkeypatch):
    monkeypatch.setattr(file_parts, "_LEAST_BYTES", 1)
    found = parts_of(written(folder, QUERIES[0]), 1)
    assert found is not None
    counts = [sum(batch.num_rows for batch in rows(json.loads(each))) for each in found.arguments]
    assert sum(counts) == 10_000
    assert len(counts) > 1
    assert all(count % 2048 == 0 for count in counts[:-1])


def test_a_part_names_no_more_files_than_it_needs(folder, monkeypatch):
    monkeypatch.setattr(file_parts, "_LEADING", 1)
    monkeypatch.setattr(file_parts, "_LEAST_BYTES", 1)
    query = written(folder, "SELECT * FROM read_parquet('@small/*/*.parquet', hive_partitioning = true)")
    found = parts_of(query, 4)
    assert found is not None
    assert [len(json.loads(each)["files"]) for each in found.arguments] == [1, 2, 2]
    assert sum(batch.num_rows for each in found.arguments for batch in rows(json.loads(each))) == 15
    # What the columns are follows from all files here.
    named = parts_of(query.replace("hive", "union_by_name = true, hive"), 4)
    assert named is not None
    with pytest.raises(Unlike, match="the same by themselves"):
        list(rows(json.loads(named.arguments[0])))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(id) FROM read_parquet('@large.parquet')",
        "SELECT id FROM read_parquet('@large.parquet') GROUP BY id",
        "SELECT DISTINCT id FROM read_parquet('@large.parquet')",
        "SELECT id FROM read_parquet('@large.parquet') ORDER BY id LIMIT 3",
        "SELECT id FROM read_parquet('@large.parquet') USING SAMPLE 10",
        "SELECT id FROM read_parquet('@large.parquet') TABLESAMPLE 10%",
        "SELECT id FROM read_parquet('@large.parquet') QUALIFY row_number() OVER (ORDER BY id) = 1",
        "SELECT row_number() OVER () FROM read_parquet('@large.parquet')",
        "SELECT unnest([1, 2]) FROM read_parquet('@large.parquet')",
        "SELECT (SELECT 1) FROM read_parquet('@large.parquet')",
        "SELECT id FROM read_parquet('@large.parquet') WHERE id IN (SELECT 1)",
        "SELECT id, random() FROM read_parquet('@large.parquet')",
        "SELECT id, now() FROM read_parquet('@large.parquet')",
        "SELECT id, current_date FROM read_parquet('@large.parquet')",
        "SELECT id, USER FROM read_parquet('@large.parquet')",
        "SELECT id, filename FROM read_parquet('@large.parquet')",
        "SELECT * FROM read_parquet('@large.parquet', filename = true)",
        "SELECT * FROM read_parquet('@large.parquet', file_row_number = true)",
        "SELECT * FROM read_csv('@0.csv', store_rejects = true)",
        "SELECT * FROM read_csv('@0.csv', null_padding = true)",
        "SELECT * FROM read_csv('@0.csv', ignore_errors = true)",
        "SELECT * FROM read_parquet('@large.parquet') WITH ORDINALITY",
        "SELECT * FROM read_parquet('@large.parquet'), read_parquet('@large.parquet')",
        "SELECT * FROM read_parquet('@large.parquet') UNION ALL SELECT * FROM read_parquet('@large.parquet')",
        "SELECT * FROM read_parquet(['@large.parquet', '@large.parquet'])",
        "WITH x AS (SELECT 1) SELECT * FROM read_parquet('@large.parquet')",
        "SELECT * FROM read_parquet('@nowhere.parquet')",
        "SELECT * FROM read_parquet('~/large.parquet')",
        "SELECT * FROM t",
        "SELECT * FROM 'nothing.xyz'",
        "VALUES (1)",
        "nonsense",
    ],
)
def test_what_is_no_such_query(query, folder):
    assert parts_of(written(folder, query), 4) is None


def test_names_of_a_moment_may_be_those_of_columns():
    query = file_query("SELECT count, mode, uuid FROM read_parquet('x.parquet') WHERE first > 1")
    assert query is not None
    assert query.text(["y"], "true") == (
        "SELECT count, mode, uuid FROM (SELECT * EXCLUDE (\"ivm file\") FROM read_parquet(['y'], filename = 'ivm file') "
        'WHERE true) AS "read_parquet" WHERE first > 1'
    )


def test_files_that_are_others_where_they_are_read(folder, tmp_path):
    path = tmp_path / "changing.parquet"
    with duckdb.connect() as duck:
        duck.execute(f"COPY (SELECT 1 AS id) TO '{path}'")
        found = parts_of(f"FROM read_parquet('{path}')", 2)
        assert found is not None
        (argument,) = map(json.loads, found.arguments)
        assert [batch.to_pylist() for batch in rows(argument)] == [[{"id": 1}]]
        with pytest.raises(Unlike, match="DuckDB is"):
            list(rows(argument | {"duckdb": "0.1"}))
        duck.execute(f"COPY (SELECT 1 AS id, 2 AS more) TO '{path}'")
        with pytest.raises(Unlike, match="not those"):
            list(rows(argument))
        path.unlink()
        with pytest.raises(Unlike, match="not those"):
            list(rows(argument))
        with pytest.raises(Unlike, match="cannot read files here"):
            list(rows(argument | {"files": []}))


def test_what_is_wrong_with_a_row_is_wrong_with_the_statement(folder):
    found = parts_of(written(folder, "SELECT CAST(s AS INTEGER) AS n FROM read_parquet('@large.parquet')"), 1)
    assert found is not None
    with pytest.raises(NumericError, match="Could not convert string 'x0' to INT32") as caught:
        list(rows(json.loads(found.arguments[0])))
    assert "ivm file" not in str(caught.value)


def test_relative_names_mean_the_same_everywhere(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = parts_of("SELECT * FROM read_parquet('small/../large.parquet')", 1)
    assert found is not None
    assert json.loads(found.arguments[0])["files"][0][0] == str(folder / "large.parquet")
    monkeypatch.chdir(folder / "small" / "y=1")
    assert parts_of("SELECT * FROM read_parquet('1.parquet')", 1) is None, "there the folder is a column"


@pytest.mark.parametrize("seed", range(20))
def test_csv_files_of_many_kinds(seed, tmp_path, monkeypatch):
    """Whatever is in them, and however some are written otherwise: the same rows, or an error in both ways."""
    monkeypatch.setattr(file_parts, "_LEAST_BYTES", 1)
    chance = random.Random(seed)
    delimiter, newline, header = chance.choice(",;|"), chance.choice(["\n", "\r\n"]), chance.random() < 0.6
    texts = ["a", '"q"', f'"a{delimiter}b"', f'"l{newline}m"', "", "NULL", "é", "#x"]
    for number in range(chance.randint(1, 4)):
        columns = ["id", "s", "x"] if header and chance.random() < 0.9 else []
        rows_ = [
            (str(chance.randint(0, 99)), chance.choice(texts), chance.choice(["1.5", "2", ""]))
            for _ in range(chance.choice([0, 1, 5, 100]))
        ]
        lines = [delimiter.join(each) for each in ([columns] if columns else []) + [list(row) for row in rows_]]
        (tmp_path / f"p={number % 2}").mkdir(exist_ok=True)
        (tmp_path / f"p={number % 2}" / f"{number}.csv").write_bytes(newline.join([*lines, ""]).encode())
    options = {
        "columns = {'id': 'BIGINT', 's': 'VARCHAR', 'x': 'VARCHAR'}": 0.5,
        f"header = {header}": 0.4,
        f"delim = '{delimiter}'": 0.4,
        "nullstr = 'NULL'": 0.3,
        "hive_partitioning = false": 0.3,
        "union_by_name = true": 0.2,
        "sample_size = 5": 0.2,
    }
    said = "".join(f", {option}" for option, often in options.items() if chance.random() < often)
    text = f"SELECT * FROM read_csv('{tmp_path}/*/*.csv'{said})"
    found = parts_of(text, 2)
    try:
        with connection(Use.OPEN) as duck:
            whole = Counter(map(repr, answer(duck, text).to_pylist()))
    except (duckdb.Error, OSError):
        if found is not None:
            with pytest.raises((Error, Unlike)):
                [list(rows(json.loads(each))) for each in found.arguments]
        return
    if found is not None:
        told = (row for each in found.arguments for batch in rows(json.loads(each)) for row in batch.to_pylist())
        assert Counter(map(repr, told)) == whole
