"""What comes in as envelopes of Debezium's, as change feeds, and as JSON."""

from __future__ import annotations

import gzip
import io
import json
import random
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm

TABLES = """
    CREATE TABLE sale (
        id BIGINT PRIMARY KEY, day DATE, sold TIMESTAMP, zoned TIMESTAMPTZ, clock TIME, fine TIMESTAMP_NS,
        price DECIMAL(20,2), raw BLOB, ok BOOLEAN, rate DOUBLE, note VARCHAR NOT NULL DEFAULT 'none'
    );
    CREATE TABLE bag (a INTEGER, b VARCHAR);
    CREATE MATERIALIZED VIEW total AS SELECT note, count(*) AS n, sum(price) AS price FROM sale GROUP BY note;
    CREATE MATERIALIZED VIEW bags AS SELECT a, count(*) AS n FROM bag GROUP BY a;
"""
MICROS, NANOS = 1_600_000_000_123_456, 1_600_000_000_123_456_789
MOMENT = datetime(2020, 9, 13, 12, 26, 40, 123456)


def sale(id: int, **more: Any) -> dict[str, Any]:
    return {"id": id, "note": "n", **more}


def envelope(op: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op, "ts_ms": 1, "source": {"table": "sale"}}


def notes(db: ivm.Database) -> list[tuple[Any, ...]]:
    return db.sql("SELECT id, note FROM sale ORDER BY id").fetchall()


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off", external_access=True) as made:
        made.sql(TABLES)
        yield made
        made.verify()


def test_envelopes_of_one_key_follow_each_other(db):
    db.apply({"sale": [envelope("c", None, sale(1)), envelope("r", None, sale(2))]}, format="debezium")
    first = [envelope("u", sale(1), sale(1, note="m")), envelope("d", sale(2)), None, {"schema": None, "payload": None}]
    again = [envelope("c", None, sale(2, note="back")), envelope("c", None, sale(3)), envelope("d", {"ID": 3})]
    db.apply({"SALE": [*first, *again], "bag": [envelope("c", None, {"a": 1})]}, format="debezium")
    assert notes(db) == [(1, "m"), (2, "back")]
    moved = [envelope("u", sale(1), sale(7)), envelope("u", None, sale(2, note="z"))]
    db.apply({"sale": moved}, format="debezium")
    assert notes(db) == [(2, "z"), (7, "n")]
    db.apply({"sale": [envelope("d", sale(7)), envelope("t"), envelope("c", None, sale(2))]}, format="debezium")
    assert notes(db) == [(2, "n")]


def test_what_comes_again_changes_nothing(db):
    batch = [envelope("c", None, sale(1)), envelope("u", sale(1), sale(1, note="m")), envelope("d", sale(4))]
    for _ in range(2):
        db.apply({"sale": batch}, format="debezium", mode="upsert")
    before = db.apply({"sale": [envelope("u", sale(1), sale(1, note="o"))]}, format="debezium", batch=("k", 7))
    assert before == db.apply({"sale": [envelope("d", sale(1))]}, format="debezium", batch=("k", 7))
    assert before == db.apply({"sale": [envelope("t")]}, format="debezium", batch=("k", 6))
    assert notes(db) == [(1, "o")]


def test_without_a_schema_the_column_says_what_a_value_is(db):
    row = sale(
        1, day=18000, sold=MICROS, zoned="2020-09-13T12:26:40.5Z", clock=3_600_000_001, fine=NANOS, ok=1,
        price="123456789012345678.25", raw="AQI=", rate=1.5,
    )  # fmt: skip
    text = json.dumps(envelope("c", None, row))
    number = text.replace('"123456789012345678.25"', "123456789012345678.25").replace('"id": 1', '"id": 2')
    db.apply({"sale": f"{text}\n{number}\n"}, format="debezium")
    found = db.sql("SELECT * FROM sale ORDER BY id").fetchall()
    assert found[0][1:] == found[1][1:]
    assert found[0][1:5] == (
        date(2019, 4, 14),
        MOMENT,
        datetime(2020, 9, 13, 12, 26, 40, 500000, UTC),
        time(1, 0, 0, 1),
    )
    assert found[0][6:] == (Decimal("123456789012345678.25"), b"\x01\x02", True, 1.5, "n")
    assert db.sql("SELECT DISTINCT epoch_ns(fine) FROM sale").fetchall() == [(NANOS,)]


def test_a_schema_says_what_a_value_is(db):
    times, connect = "io.debezium.time.", "org.apache.kafka.connect.data."
    digits = b64encode((-12345).to_bytes(2, "big", signed=True)).decode()
    told = {
        "day": (f"{times}Date", "int32", 18000), "sold": (f"{times}Timestamp", "int64", MICROS // 1000),
        "zoned": (f"{times}ZonedTimestamp", "string", "2020-09-13T12:26:40Z"), "clock": (f"{times}Time", "int32", 1000),
        "fine": (f"{times}NanoTimestamp", "int64", NANOS), "price": (f"{connect}Decimal", "bytes", digits),
        "raw": (None, "bytes", "AQI="), "note": (None, "string", "n"), "id": (None, "int64", 1),
    }  # fmt: skip
    fields = [
        {"field": name, "type": kind, "name": known, "parameters": {"scale": "2"}}
        for name, (known, kind, _) in told.items()
    ]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
    row = {name: value for name, (_, _, value) in told.items()}
    loose = envelope("c", None, {**row, "id": 2, "price": {"scale": 1, "value": digits}, "sold": MICROS})
    db.apply({"sale": [{"schema": schema, "payload": envelope("c", None, row)}, loose]}, format="debezium")
    found = db.sql("SELECT sold, clock, price, raw FROM sale ORDER BY id").fetchall()
    cut = MOMENT.replace(microsecond=123000)
    assert found[0] == (cut, time(0, 0, 1), Decimal("-123.45"), b"\x01\x02")
    assert found[1] == (MOMENT, time(0, 0, 0, 1000), Decimal("-1234.50"), b"\x01\x02")
    micros = [{**each, "name": f"{times}MicroTimestamp"} if each["field"] == "sold" else each for each in fields]
    other = {"fields": [{"field": "before"}, {"field": "after", "fields": micros}]}
    with_it = [{"schema": schema, "payload": envelope("c", None, {**row, "id": 3})}]
    with_it.append({"schema": other, "payload": envelope("c", None, {**row, "id": 4, "sold": MICROS})})
    db.apply({"sale": with_it}, format="debezium")
    assert db.sql("SELECT sold FROM sale WHERE id > 2 ORDER BY id").fetchall() == [(cut,), (MOMENT,)]


WRONG = [
    ("{", "0 counted from 0 is no JSON"),
    (b"\xff", "not UTF-8"),
    ("[" * 100_000, "nested too deeply"),
    ([3], "0 counted from 0 is of type int"),
    ([None, {"status": "BEGIN"}], "1 counted from 0 has no op, but status"),
    ([envelope("x")], "has op 'x'; known are c"),
    ([envelope("u")], "no after"),
    ([envelope("d")], "no before"),
    ([envelope("c", None, {"note": "n"})], "no 'id' in its after"),
    ([envelope("c", None, sale(5)), envelope("c", None, sale(5))], "1 counted .* creates .* there since envelope 0"),
    ([envelope("d", sale(1)), envelope("d", sale(1))], "1 counted .* deletes .* gone since envelope 0"),
    ([envelope("t"), envelope("d", sale(1))], "one before has truncated"),
    ([envelope("d", sale(77))], r"no row with PRIMARY KEY \(id\) = \(77,\)"),
    ([envelope("c", None, sale(1))], "already has a row"),
    (
        [envelope("c", None, sale(5)), envelope("c", None, sale(6, zz=1))],
        "1 counted .* does not fit: there is no .*'zz'",
    ),
    ([envelope("c", None, sale(5)), envelope("c", None, sale(6, price="AfQ="))], "1 counted .*schemas.enable=true"),
    ([envelope("c", None, sale(5)), envelope("c", None, sale(6, price=1.255))], "1 counted .* does not fit: .*'price'"),
    ([envelope("c", None, sale(5)), envelope("c", None, sale(6, note=None))], "1 counted .* NOT NULL"),
    ([envelope("c", None, sale(5, raw="!"))], "column 'raw': Only base64"),
    ([envelope("c", None, sale(5, day=10**9))], "column 'day'"),
    ([envelope("c", None, sale(5, clock=-1))], "no time of a day"),
    ([envelope("c", None, sale(5, note="__debezium_unavailable_value"))], "REPLICA IDENTITY FULL"),
    ([envelope("c", None, {**sale(5), 7: 1})], "there is no column '7'"),
    (7, "a int holds no JSON"),
]


def test_what_is_wrong_with_an_envelope_is_said_and_nothing_changes(db):
    db.apply({"sale": [sale(1)]}, format="json")
    time = db.time
    good = [envelope("c", None, {"a": 1, "b": "x"})]
    for bad, words in WRONG:
        with pytest.raises(ivm.Error, match=words):
            db.apply({"bag": good, "sale": bad}, format="debezium")
        assert (notes(db), db.sql("FROM bag").fetchall(), db.time) == ([(1, "n")], [], time)


def test_a_table_without_a_key_has_whole_rows(db):
    row = {"a": 1, "b": "x"}
    those = [envelope("c", None, row), envelope("c", None, row), envelope("d", row), envelope("u", row, {"a": 2})]
    db.apply({"bag": those}, format="debezium")
    assert db.sql("FROM bag").fetchall() == [(2, None)]
    for bad, words in ((envelope("d", row), "no row"), (envelope("u", None, row), "declare a primary key")):
        with pytest.raises(ivm.Error, match=words):
            db.apply({"bag": [bad]}, format="debezium")


def test_what_a_subscription_tells_goes_into_another_database(db):
    with db.subscribe("total", form="debezium") as changes, ivm.connect(compile="off") as other:
        other.sql("CREATE TABLE total (note VARCHAR PRIMARY KEY, n BIGINT, price DECIMAL(38,2))")
        for rows in (
            [sale(1, price="1.50"), sale(2)],
            [{**sale(1, price="1.50"), "_diff": -1}, {**sale(3, note="m"), "_diff": 1}],
        ):
            db.apply({"sale": rows}, format="json")
            other.apply({"total": changes.fetch()}, format="debezium")
        told = "SELECT * FROM total ORDER BY note"
        assert other.sql(told).fetchall() == db.sql(told).fetchall() == [("m", 1, None), ("n", 1, None)]


def test_a_change_feed_says_in_words_what_changed(db):
    feed = [
        {"a": 1, "b": "x", "_change_type": "insert", "_commit_version": 3},
        {"a": 1, "b": "x", "_change_type": "update_preimage", "_commit_version": 4},
        {"a": 1, "b": "y", "_change_type": "update_postimage", "_commit_version": 4},
    ]
    db.apply({"bag": feed}, format="changes")
    columns = {name: [row[name] for row in feed] for name in feed[0]}
    for each in (columns, pa.table(columns), pa.table(columns).to_reader()):
        db.apply({"bag": each}, format="changes")
    assert db.sql("FROM bag").fetchall() == [(1, "y")] * 4
    gone = {"A": 1, "B": "y", "METADATA$ACTION": "DELETE", "METADATA$ISUPDATE": False, "METADATA$ROW_ID": "r"}
    db.apply({"bag": [gone, {**gone, "METADATA$ACTION": "INSERT", "B": "z"}]}, format="changes")
    db.apply({"bag": []}, format="changes")
    assert sorted(db.sql("FROM bag").fetchall()) == [(1, "y")] * 3 + [(1, "z")]
    for bad, words in (
        ({"a": 1, "_change_type": "merge"}, "row 0 counted from 0, is 'merge'"),
        ({"a": 1, "_change_type": 3}, "must be text"),
        ({"a": 1}, "neither _change_type nor _diff"),
        ({"a": 1, "_change_type": "insert", "_diff": 1}, "both _change_type and _diff"),
    ):
        for rows in ([bad], {name: [value] for name, value in bad.items()}):
            with pytest.raises(ivm.TypeMismatchError, match=words):
                db.apply({"bag": rows}, format="changes")


def test_json_comes_in_all_the_ways_there_are(db, tmp_path):
    lines = '{"a":1,"b":"x"}\n\n{"a":2}\n'
    path, packed = tmp_path / "bag.jsonl", tmp_path / "bag.jsonl.gz"
    path.write_text(lines)
    packed.write_bytes(gzip.compress(lines.encode()))
    array = '[{"a":1,"b":"x"},{"a":2}]'
    parts: list[Any] = ['{"a":1,"b":"x"}', b'{"a":2}']
    records = pa.table({"key": [b"1", b"2"], "value": [each.encode() for each in lines.split("\n\n")]})
    ways: list[Any] = [
        lines,
        lines.encode(),
        array,
        path,
        packed,
        io.BytesIO(lines.encode()),
        parts,
        [json.loads(p) for p in parts],
    ]
    ways += [pa.table({"any": [str(p, "utf-8") if isinstance(p, bytes) else p for p in parts]}), records]
    for way in ways:
        db.apply({"bag": way}, format="json")
        db.apply({"bag": [{"a": 1, "b": "x", "_diff": -1}, {"a": 2, "_diff": -1}]}, format="json")
        assert db.sql("FROM bag").fetchall() == []
    db.apply({"bag": '{\n "a": 1,\n "b": "x"\n}'}, format="json")
    for bad, words in (
        ('{"a":1}\n{"a":', "row 1 counted from 0 is no JSON"), ("[1]", "row 0 counted from 0 is of type int"),
        ([None], "row 0 .* is null"), ('{"zz":1}', "no column 'zz'"), ('{"a":1.5}', "column 'a' is INTEGER"),
    ):  # fmt: skip
        with pytest.raises(ivm.TypeMismatchError, match=words):
            db.apply({"bag": bad}, format="json")
    with pytest.raises(ivm.StorageError, match="cannot read file"):
        db.apply({"bag": tmp_path / "none.json"}, format="json")
    with pytest.raises(ivm.TypeMismatchError, match="format is 'xml'"):
        db.apply({"bag": []}, format="xml")


def test_json_keeps_all_digits_and_what_is_nested(db):
    db.sql(
        "CREATE TABLE deep (id INTEGER PRIMARY KEY, p DECIMAL(38,2), d DOUBLE, s STRUCT(x DECIMAL(20,3), l DOUBLE[]))"
    )
    text = '{"id":%d,"p":%s,"d":1e300,"s":{"x":12345678901234567.125,"l":[1,2.5]}}'
    many = [
        text % (row, "123456789012345678901234567890.25" if row % 2 else "99999999999999999999") for row in range(5000)
    ]
    for few in (many[:3], many[3:]):
        db.apply({"deep": few}, format="json")
    found = db.sql("SELECT DISTINCT p, d, s FROM deep ORDER BY p").fetchall()
    nested = {"x": Decimal("12345678901234567.125"), "l": [1.0, 2.5]}
    assert [row[1:] for row in found] == [(1e300, nested)] * 2
    assert [row[0] for row in found] == [Decimal("99999999999999999999"), Decimal("123456789012345678901234567890.25")]


def test_what_json_says_of_rows_comes_in_again(db):
    """All types but BLOB, nested ones too."""
    db.sql("""
        CREATE TABLE every_type (
            id INTEGER PRIMARY KEY, n HUGEINT, p DECIMAL(30,5), d DOUBLE, f FLOAT, ok BOOLEAN, day DATE, moment TIMESTAMP,
            zoned TIMESTAMPTZ, fine TIMESTAMP_NS, clock TIME, span INTERVAL, name VARCHAR, uuid UUID, j JSON,
            s STRUCT(x DECIMAL(20,3), l DOUBLE[], day DATE), mood ENUM ('up', 'down')
        );
        CREATE TABLE again AS FROM every_type LIMIT 0;
        INSERT INTO every_type VALUES
            (1, 12345678901234567890123456789012345678, 1234567890123456789012345.12345, 'nan', 0.1, true, '2020-02-29',
             '2020-02-29 12:00:00.123456', '2020-02-29 12:00:00.5+00', '2020-02-29 12:00:00.123456789', '23:59:59.5',
             '1 month 2 days', 'ä "quoted"\n', '12345678-1234-1234-1234-1234567890ab', '{"a": [1]}',
             {'x': 0.125, 'l': [1.5, NULL], 'day': '2020-02-29'}, 'up'),
            (2, -1, -0.5, '-inf', 1e30, false, '0001-01-01', '0001-01-01', '9999-12-31 23:59:59+00', '2000-01-01', '00:00', '0s',
             '', '00000000-0000-0000-0000-000000000000', 'null', NULL, NULL),
            (3, NULL, NULL, 1e300, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'down')
    """)
    for lines in (True, False):
        db.sql("DELETE FROM again")
        db.apply({"again": db.sql("FROM every_type").json(lines=lines)}, format="json")
        rows = "SELECT * REPLACE (CAST(d AS VARCHAR) AS d) FROM"  # NaN is not itself to Python
        assert db.sql(f"{rows} again ORDER BY id").fetchall() == db.sql(f"{rows} every_type ORDER BY id").fetchall()
    assert db.view("bags").json() == "[]"


def test_copy_reads_a_file_of_envelopes(db, tmp_path):
    path = tmp_path / "sale.json"
    for layout in ("\n".join, lambda those: f"[{','.join(those)}]"):
        path.write_text(layout([json.dumps(envelope("t")), json.dumps(envelope("c", None, sale(1)))]))
        assert db.sql(f"COPY sale FROM '{path}' (FORMAT debezium)").rowcount == 2
        db.sql("INSERT INTO sale (id, note) VALUES (9, 'n')")
    db.sql(f"BEGIN; DELETE FROM sale WHERE id = 9; COPY sale FROM '{path}' (FORMAT debezium); ROLLBACK")
    assert notes(db) == [(1, "n"), (9, "n")]
    path.write_text(json.dumps(envelope("c", None, sale(1))))
    for wrong, words in (
        (f"COPY sale FROM '{path}' (FORMAT debezium)", "already has a row"),
        (f"COPY sale (id) FROM '{path}' (FORMAT debezium)", "takes no columns"),
        (f"COPY sale TO '{path}' (FORMAT debezium)", "only into a table"),
    ):
        with pytest.raises(ivm.Error, match=words):
            db.sql(wrong)


def test_a_sink_takes_records_of_kafka(db):
    sink = db.sink("sale", format="debezium", source="k")
    for number, op in enumerate(("c", "u", "d")):
        both = [json.dumps(envelope(op, sale(1), sale(1, note=op))).encode()]
        for _ in range(2):
            sink(pa.table({"key": [b"1"], "value": both}), number)
        assert notes(db) == ([] if op == "d" else [(1, op)])
    db.sql("CREATE TABLE refused (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR)")
    with pytest.raises(ivm.UnsupportedError, match="leave quarantine out"):
        db.sink("sale", format="debezium", on_error="quarantine", quarantine="refused")
    with pytest.raises(ivm.TypeMismatchError, match="mode 'append' inserts rows"):
        db.sink("sale", format="debezium", mode="append")


@pytest.mark.parametrize("place", ["memory", "disk", "shards"])
def test_random_envelopes_make_the_table_that_they_are_of(place, tmp_path):
    """Histories of inserts, updates, moves, deletes and truncations, told in batches of any size."""
    draw, source, known = random.Random(7), dict[int, Any](), 0
    path = tmp_path / "log" if place == "disk" else None
    db = ivm.connect(path, compile="off") if place != "shards" else ivm.connect(shards=3, compile="off")
    db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, note VARCHAR); CREATE MATERIALIZED VIEW v AS "
           "SELECT note, count(*) AS n FROM sale GROUP BY note")  # fmt: skip
    for number in range(20):
        batch = []
        for _ in range(draw.randrange(9)):
            known += 1
            here = draw.choice([*source, -1][: len(source) or 1])
            what = draw.choice("ccuudt" if draw.random() < 0.1 else "ccuud") if source else "c"
            free = [each for each in range(12) if each not in source]
            if what == "t":
                source.clear()
                batch.append(envelope("t"))
            elif what == "c":
                if free:
                    row: dict[str, Any] = {"id": draw.choice(free), "note": str(known % 3)}
                    source[row["id"]] = row
                    batch.append(envelope("c", None, row))
            else:
                before = source.pop(here)
                row = {"id": draw.choice([here, *free]), "note": str(known % 3)}
                if what == "u":
                    source[row["id"]] = row
                batch.append(envelope(what, before, row if what == "u" else None))
        db.apply({"sale": batch}, format="debezium", batch=("s", number))
        if place == "disk" and number % 7 == 3:
            db.close()
            db = ivm.connect(path, compile="off")
            assert db.batches() == {"s": number}
        assert notes(db) == sorted((row["id"], row["note"]) for row in source.values())
    db.verify()
    db.close()
