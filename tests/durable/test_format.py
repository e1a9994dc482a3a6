"""What docs/format.md says is enough to read a database without the engine."""

from __future__ import annotations

import itertools
import json
import re
import struct
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import ivm
from ivm.storage.record import written
from tests.durable.opening import killed
from tests.durable.workload import begin, steps

FORMAT = Path(__file__).parents[2] / "docs" / "format.md"


def padded(size):
    return -(-size // 8) * 8


def checkpoint(path):
    """The manifest, and the rows of all tables."""
    if not (path / "MANIFEST").exists():
        return {"record": 0, "batches": {}, "defined": {"tables": []}}, {}
    first, text = (path / "MANIFEST").read_bytes().split(b"\n", 1)
    assert first == b"ivm database, format 1, crc32 %08x" % zlib.crc32(text)
    manifest, rows = json.loads(text), dict[str, Any]()
    for name, table in manifest["tables"].items():
        living = (
            [row["living"] for row in batches(path, table["living"])] if table["living"] else itertools.repeat(True)
        )
        kept = [row for part in table["parts"] for row in batches(path, part["written"])]
        rows[name] = list(itertools.compress(kept, living))
    return manifest, rows


def batches(path, written):
    """The rows of a file of streams."""
    data, found = (path / written["file"]).read_bytes(), []
    assert (len(data), zlib.crc32(data)) == (written["bytes"], written["crc"])
    reader = pa.BufferReader(data)
    while reader.tell() < len(data):
        found += pa.ipc.open_stream(reader).read_all().to_pylist()
    return found


def certain(path):
    """The number of the last record that was synced."""
    magic, number, total = struct.unpack("<4sQI", (path / "CERTAIN").read_bytes())
    assert (magic, zlib.crc32((path / "CERTAIN").read_bytes()[:12])) == (b"ivmC", total)
    return number


def records(path, number):
    """The payloads of all records behind one that count, with what they are."""
    for file in sorted(path.glob("*.log")):
        if int(file.stem) <= number:
            continue
        data, at = file.read_bytes(), 0
        assert not data or int(file.stem) == number + 1
        while at + 40 <= len(data):
            magic, version, kind, size, found, _, total, head = struct.unpack_from("<4sHHQQQII", data, at)
            payload = data[at + 40 : at + 40 + size]
            if magic != b"ivmR" or zlib.crc32(data[at : at + 36]) != head or zlib.crc32(payload) != total:
                return  # which may be zeros, before a payload of what is not decided
            assert (version, found) == (1, number + 1)
            yield kind, payload
            number, at = found, at + 40 + padded(size)


def parts(payload, key):
    """The head, and each of its parts with its rows."""
    length = int.from_bytes(payload[:4], "little")
    head, at = json.loads(payload[4 : 4 + length]), padded(4 + length)
    found = []
    for each in head[key]:
        rows = pa.ipc.open_stream(payload[at : at + each["bytes"]]).read_all().to_pylist() if each["bytes"] else []
        found.append((each, rows))
        at += padded(each["bytes"])
    return head, found


def read(path):
    """The rows of all tables, and the batches."""
    manifest, rows = checkpoint(path)
    tables, sources = {each["name"]: each for each in manifest["defined"]["tables"]}, manifest["batches"]
    for kind, payload in records(path, manifest["record"]):
        head, found = parts(payload, "changes" if kind == 1 else "made")
        if kind == 1:
            for change, given in found:
                rows[change["table"]] = changed(tables[change["table"]], rows[change["table"]], change["mode"], given)
            sources |= dict(batch for _, batch in head["commits"] if batch)
        else:
            tables = {name: each for name, each in tables.items() if name in head["names"]}
            tables |= {table["name"]: table for table in head["tables"]}
            rows = {name: rows.get(name, []) for name in tables} | {made["table"]: given for made, given in found}
    return rows, sources


def changed(table, rows, mode, given):
    """The rows of a table after a change. In mode "diff" the deletes of a time come before its inserts."""
    names = [field["name"] for field in table["fields"]]
    key = table["primary_key"] or names
    defaults = {each["column"]: each["value"] for each in table["defaults"]}
    for row in sorted(given, key=lambda row: (row.get("_time", 0), mode == "diff" and row.get("_diff", 1))):
        diff, whole = row.get("_diff", 1), {name: row.get(name, defaults.get(name)) for name in names}
        met = [place for place, other in enumerate(rows) if all(other[name] == whole[name] for name in key)]
        gone = met if mode == "upsert" else met[: max(-diff, 0)]
        rows = [other for place, other in enumerate(rows) if place not in gone] + [whole] * max(diff, 0)
    return rows


def test_another_program_reads_it(tmp_path):
    with ivm.connect(tmp_path / "shop.ivm", compile="off", durability="off") as db:
        begin(db)
        for step in steps(1, 50):
            step(db)
        path = killed(db, tmp_path / "shop.ivm", tmp_path / "killed.ivm")
    record = checkpoint(path)[0]["record"]
    assert record > 5
    assert len(list(records(path, record))) > 5
    with max(path.glob("*.log")).open("ab") as file:  # of a commit that is not decided
        file.write(bytes(40) + b"".join(map(bytes, written(1, 99, 98, [b"rows"])[1:])))
    assert record <= certain(path) <= record + len(list(records(path, record)))
    rows, sources = read(path)
    with ivm.connect(path, compile="off", read_only=True) as db:
        assert rows.keys() == {table.name for table in db.tables()}
        for table in db.tables():
            expected = db.sql(f"SELECT * FROM {table.name}").arrow().to_pylist()
            assert sorted(map(shown, rows[table.name])) == sorted(map(shown, expected)), table.name
        assert sources == db.batches()
    assert len(rows["sale"]) > 100


def test_all_that_is_written_is_described(tmp_path):
    path = tmp_path / "shop.ivm"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE TABLE r (a BIGINT PRIMARY KEY); CREATE TYPE mood AS ENUM ('good', 'bad')")
        db.sql(
            "CREATE TABLE t (a BIGINT PRIMARY KEY, b DECIMAL(9,2) DEFAULT 1, c mood, UNIQUE (a, c), "
            "CHECK (a > 0), FOREIGN KEY (a) REFERENCES r (a))"
        )
        db.sql("CREATE INDEX i ON t (c); CREATE MATERIALIZED VIEW v AS SELECT a FROM t ORDER BY c; CHECKPOINT")
        db.sql("CREATE TABLE s AS SELECT 1 AS a; DROP VIEW v; CREATE MATERIALIZED VIEW v AS SELECT list(b) FROM t")
        db.apply({"t": [{"a": 1, "c": "good"}]}, batch=("source", 1))
        manifest = checkpoint(path)[0]
        found = [
            parts(payload, "changes" if kind == 1 else "made") for kind, payload in records(path, manifest["record"])
        ]
    described = set(re.findall("`([a-z_]+)`", FORMAT.read_text()))
    assert len(found) == 4
    assert names([head for head, _ in found]) | names(manifest) <= described


def names(value):
    """The names within JSON that are not of tables, types, sources or plans."""
    if isinstance(value, list):
        return set().union(*map(names, value))
    if not isinstance(value, dict):
        return set()
    found = set(value)
    for name, each in value.items():
        by_name = isinstance(each, dict) and name in ("tables", "types")
        if name not in ("batches", "planned", "indexes", "states") or not isinstance(each, dict):
            found |= names([*each.values()] if by_name else each)
    return found


def shown(row):
    """A row as text, whose price may be a default, which is text."""
    return repr([Decimal(value) if name == "price" and value else value for name, value in sorted(row.items())])
