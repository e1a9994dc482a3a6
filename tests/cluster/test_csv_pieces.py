"""A large CSV file in pieces: together they are what DuckDB reads of the whole, or one of them says that they are not."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from ivm.cluster.protocol.terms import Unlike
from ivm.cluster.queries import csv_pieces, file_parts
from ivm.cluster.queries.file_parts import parts_of, rows
from ivm.duck import Use, answer, connection

LINES = 60_000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(csv_pieces, "_TIMES", 1)
    monkeypatch.setattr(file_parts, "_LEAST_BYTES", 1)


def lines(seed: int, delimiter: str = ",") -> list[str]:
    """Lines of four columns; in some of the texts are the delimiter, quotes and apostrophes."""
    drawn = random.Random(seed)
    texts = ["", "x", "it's", 'a 5" pipe', '"say ""hi"""', f'"a{delimiter}b"', "'"]
    return [delimiter.join((str(i), drawn.choice(texts), str(i % 97), "2024-02-03")) for i in range(LINES)]


def written(folder: Path, said: Sequence[str], end: str = "\n") -> Path:
    found = folder / "large.csv"
    found.write_bytes((end.join(said) + end).encode())
    return found


def told(text: str) -> tuple[Counter[tuple[object, ...]], int]:
    """The rows that parts give, and how many parts there are."""
    found = parts_of(text, 8)
    assert found is not None
    tables = [batch for argument in found.arguments for batch in rows(json.loads(argument))]
    return Counter(row for batch in tables for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)), len(
        found.arguments
    )


def whole(text: str) -> Counter[tuple[object, ...]]:
    with connection(Use.OPEN) as duck:
        found = answer(duck, text)
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize(
    ("delimiter", "end", "header", "options"),
    [
        (",", "\n", "", ""),
        (";", "\r\n", "id;text;n;day", ", header = true, delim = ';'"),
        ("|", "\n", "id|text|n|day", ", all_varchar = true"),
        ("\t", "\n", "", ", columns = {'a': 'BIGINT', 'b': 'VARCHAR', 'c': 'INTEGER', 'd': 'DATE'}, nullstr = 'x'"),
    ],
)
def test_pieces_together_are_the_whole(tmp_path, delimiter, end, header, options):
    file = written(tmp_path, [*([header] if header else []), *lines(len(options), delimiter)], end)
    text = f"SELECT * FROM read_csv('{file}'{options})"
    found, count = told(text)
    assert count > 1
    assert found == whole(text)
    text = f"SELECT x.a || 1 AS a FROM read_csv('{file}'{options}) AS x(a, b, c, d) WHERE b <> '' AND c::INTEGER > 7"
    assert told(text)[0] == whole(text)


def test_a_line_in_quotes_is_not_cut_in_silence(tmp_path):
    said = lines(1)
    for at in range(LINES // 2, LINES, 2):
        said[at] = f'{at},"two\nlines, ""{at}",3,2024-02-03'
    text = f"SELECT * FROM read_csv('{written(tmp_path, said)}')"
    results = list[str]()
    for shift in range(0, 64, 8):  # so that cuts are elsewhere
        said[LINES // 2 - 1] = f"1,{'y' * shift},3,2024-02-03"
        written(tmp_path, said)
        try:
            found, count = told(text)
        except Unlike as error:
            results.append(str(error))
        else:
            assert found == whole(text)
            assert count > 1
    assert any("unterminated quote" in each for each in results)


def test_what_is_wrong_with_a_line_is_told_by_whoever_reads_all(tmp_path):
    said = lines(2)
    said[50_000] = "no number,,1,2024-02-03"
    with pytest.raises(Unlike, match="no number"):
        told(f"SELECT * FROM read_csv('{written(tmp_path, said)}')")
    said[50_000] = "1,a\rb,1,2024-02-03"
    with pytest.raises(Unlike, match="end in several ways"):
        told(f"SELECT * FROM read_csv('{written(tmp_path, said)}')")


def test_what_is_read_as_a_whole(tmp_path, monkeypatch):
    file = written(tmp_path, lines(3))
    for options in (", strict_mode = false", ", skip = 3", ", comment = '#'", ", sample_size = 100", ", escape = '\\'"):
        assert told(f"SELECT * FROM read_csv('{file}'{options})")[1] == 1, options
    other = tmp_path / "a=1"
    other.mkdir()
    written(other, lines(3))
    assert told(f"SELECT * FROM read_csv('{other}/large.csv')")[1] == 1
    assert told(f"SELECT * FROM read_csv(['{file}', '{other}/large.csv'], hive_partitioning = false)")[1] > 1
    few = written(tmp_path, lines(3)[:20_000])
    assert told(f"SELECT * FROM read_csv('{few}')")[1] == 1
