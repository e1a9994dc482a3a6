"""Texts that nobody refers to any more are freed, and no others: whoever keeps a code keeps its text."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.trace.text import sweep
from ivm.trace.text.dictionary import Literals, TextDictionary
from ivm.trace.text.sweep import Pace, Sweep
from tests.sweeps import sweeping

VIEWS = {
    "log": "SELECT id, s FROM t WHERE n > 2",
    "computed": "SELECT id, upper(s) || '/' || coalesce(u, 'none') AS x FROM t",
    "by_memo": "SELECT regexp_replace(s, '[0-9]', '#') AS x, count(*) AS c FROM t GROUP BY 1",
    "conditions": "SELECT id FROM t WHERE s LIKE '%1%' AND u IN ('u1', 'u2', 'u3') OR u < 'u4'",
    "joined": "SELECT t.id, a.s AS other, a.n FROM t JOIN a ON t.u = a.u",
    "outer_joined": "SELECT t.s, a.s AS other FROM t LEFT JOIN a ON t.s = a.s",
    "groups": "SELECT s, u, count(*) AS c, sum(n) AS m FROM t GROUP BY s, u",
    "distinct_rows": "SELECT DISTINCT u, s FROM t",
    "excepted": "SELECT s FROM t EXCEPT SELECT s FROM a",
    "extremes": "SELECT n, min(s) AS low, max(s) AS high FROM t GROUP BY n",
    "extremes_that_grow": "SELECT u, min(s) AS low, max(s) AS high FROM a GROUP BY u",
    "arguments": "SELECT u, arg_min(s, n) AS first, arg_max(s, id) AS last FROM t GROUP BY u",
    "joined_texts": "SELECT n, string_agg(s, ', ' ORDER BY id) AS x FROM t GROUP BY n",
    "lists": "SELECT n, list(s ORDER BY id) AS x FROM t GROUP BY n",
    "lists_joined": """SELECT g.x, a.id FROM (SELECT n, list(s ORDER BY id) AS x FROM t WHERE id > 3 GROUP BY n) AS g
        LEFT JOIN a ON a.id = g.n""",
    "groups_of_lists": "SELECT x, count(*) AS c FROM (SELECT n, list(u ORDER BY u) AS x FROM t GROUP BY n) GROUP BY x",
    "first_rows": "SELECT s, u FROM t ORDER BY s DESC, u LIMIT 4 OFFSET 1",
    "first_rows_that_grow": "SELECT s, u FROM a ORDER BY s LIMIT 3",
    "windows": """SELECT id, lag(s, 1, 'nobody') OVER w AS before, first_value(s) OVER w AS first,
        max(u) OVER (PARTITION BY n) AS top FROM t WINDOW w AS (PARTITION BY n ORDER BY u, id)""",
    "bound": "SELECT id, s FROM t WHERE s >= (SELECT max(s) FROM a)",
    "bound_by_group": "SELECT t.id, t.s FROM t WHERE t.s = (SELECT min(i.s) FROM t AS i WHERE i.n = t.n)",
    "constants": "SELECT s FROM t UNION ALL SELECT x FROM (VALUES ('one'), ('two')) AS v(x)",
    "over_view": "SELECT low || high AS both FROM extremes WHERE low <> high",
    "casts": "SELECT CAST(n AS VARCHAR) || u AS x, id FROM t",
}


def changed(db: ivm.Database, numbers: Any, chance: random.Random, rows: int) -> None:
    """A commit of texts that were never there, and of some that were."""
    with db.transaction() as tx:
        for _ in range(rows):
            number = next(numbers)
            text, other = f"text {chance.choice([number, chance.randrange(9)])}", f"u{chance.randrange(6)}"
            row = {"id": chance.randrange(30), "s": text, "u": chance.choice([other, None]), "n": chance.randrange(4)}
            tx.upsert("t", [row])
        if chance.random() < 0.3:
            tx.delete("t", [{"id": key} for (key,) in db.sql("SELECT id FROM t").fetchall()[:3]])
        if chance.random() < 0.5:
            tx.insert("a", [{"id": next(numbers), "s": f"text {chance.randrange(9)}", "u": other, "n": 1}])


def filled(**options: Any) -> ivm.Database:
    """A database with the tables and no view."""
    db = ivm.connect(**options)
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR NOT NULL, u VARCHAR, n BIGINT)")
    db.sql("CREATE TABLE a (id BIGINT, s VARCHAR, u VARCHAR, n BIGINT) WITH (append_only = true)")
    return db


@pytest.mark.parametrize("how", ["fast", "slow"])
def test_whoever_keeps_a_code_keeps_its_text(how):
    numbers, chance = count(1000), random.Random(5)
    with sweeping(how):
        db = filled(compile="off")
        for name, query in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for commit in range(120 if how == "fast" else 400):
            changed(db, numbers, chance, 3)
            if commit % (8 if how == "fast" else 40) == 0:
                db.verify()
        db.verify()
        known = len(engine_of(core_of(db)).dictionary)
        assert known < (2000 if how == "fast" else 9000), "texts of rows that are gone are still known"


def test_one_view_alone_keeps_what_it_shows():
    """What another keeps does not help."""
    numbers, chance = count(1000), random.Random(6)
    with sweeping("fast"):
        for name, query in VIEWS.items():
            if name == "over_view":
                continue
            db = filled(compile="off")
            changed(db, numbers, chance, 20)
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
            for _ in range(8):
                changed(db, numbers, chance, 2)
            db.verify()


def test_rows_without_a_key_are_found_by_their_texts():
    with sweeping("fast"):
        db = ivm.connect()
        db.execute("CREATE TABLE t (id INTEGER, s VARCHAR)")
        db.execute(f"INSERT INTO t VALUES {', '.join(f'({i}, {chr(39)}text {i}{chr(39)})' for i in range(20))}")
        for i in range(20):
            db.execute(f"DELETE FROM t WHERE id = {i}")
            db.execute(f"INSERT INTO t VALUES ({i + 20}, 'another {i}'), ({i}, 'text {i}')")
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(40,)]


def test_views_come_and_go_between_sweeps():
    numbers, chance = count(1000), random.Random(7)
    with sweeping("slow"):
        db = filled(compile="off")
        there: list[str] = []
        for commit in range(150):
            changed(db, numbers, chance, 2)
            name = chance.choice([each for each in VIEWS if each != "over_view"])
            if name in there:
                there.remove(name)
                db.sql(f"DROP VIEW {name}")
            else:
                there.append(name)
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
            if commit % 10 == 0:
                db.verify()
        db.verify()


def test_the_past_can_be_read_as_long_as_it_is_kept():
    with sweeping("fast"):
        db = filled(compile="off", history=5)
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, string_agg(s, '+') AS x FROM t GROUP BY id")
        times = []
        for number in range(12):
            with db.transaction() as tx:
                tx.upsert("t", [{"id": 1, "s": f"number {number}", "u": None, "n": 0}])
            times.append(db.time)
        for number in range(6, 12):
            assert db.view("v").fetchall(as_of=times[number]) == [(1, f"number {number}")]


def test_what_was_read_before_a_sweep_is_right_after_it():
    with sweeping("fast"):
        db = filled(compile="off")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, s, list(u) AS x FROM t GROUP BY id, s")
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT t.id FROM t, a WHERE t.s = a.s")  # the table's texts get codes
        expected = [(i, f"old {i}", [f"u{i}"]) for i in range(50)]
        with db.transaction() as tx:
            tx.insert("t", [{"id": i, "s": s, "u": x[0], "n": 0} for i, s, x in expected])
        engine = engine_of(core_of(db))
        contents, reading = engine.views["v"].contents(engine.dictionary), engine.tables["t"].reading()
        for number in range(6):
            with db.transaction() as tx:
                tx.upsert("t", [{"id": i, "s": f"new {number} {i}", "u": "u", "n": 1} for i in range(50)])
        assert sorted(tuple(row.values()) for row in contents.arrow().to_pylist()) == expected
        assert [row["s"] for row in reading().to_pylist()] == [s for _, s, _ in expected]
        db.verify()


def test_one_text_of_many_rows_that_changes_all_the_time():
    db = filled(compile="off")
    with db.transaction() as tx:
        tx.insert("t", [{"id": i, "s": f"text number {i:08}", "u": None, "n": 0} for i in range(1000)])
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT string_agg(s, ',' ORDER BY id) AS w, list(s ORDER BY id) AS x FROM t")
    for number in range(1500):
        with db.transaction() as tx:
            tx.upsert("t", [{"id": number % 1000, "s": f"text number {number + 5000:08}", "u": None, "n": 0}])
    dictionary = engine_of(core_of(db)).dictionary
    assert dictionary.nbytes < 12 << 20, "each of 1500 texts takes 20 kB, and each list 5 kB"
    db.verify()


def test_literals_stay_as_long_as_their_expression():
    with sweeping("fast"):
        db = filled(compile="off")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM t WHERE s = 'a rare text' OR s IN ('p', 'q', 'r')")
        dictionary = engine_of(core_of(db)).dictionary
        before = dictionary.code("a rare text")
        for number in range(10):
            with db.transaction() as tx:
                tx.upsert("t", [{"id": 1, "s": f"text {number}", "u": None, "n": 0}])
        assert dictionary.code("a rare text") == before
        with db.transaction() as tx:
            tx.upsert("t", [{"id": 2, "s": "a rare text", "u": None, "n": 0}, {"id": 3, "s": "q", "u": "", "n": 0}])
        assert db.view("v").fetchall() == [(2,), (3,)]


def test_an_interruption_gives_the_sweep_up_and_nothing_else(monkeypatch):
    chance, numbers = random.Random(8), count(1000)
    with sweeping("slow"):
        db = filled(compile="off")
        for name in ("groups", "lists", "first_rows", "windows", "by_memo"):
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
        failing = [0]
        for name in ("mark_codes", "move_texts"):
            kernel = getattr(sweep, name)

            def raising(*arguments: Any, kernel: Any = kernel) -> Any:
                failing[0] += 1
                if failing[0] % 37 == 0:
                    raise MemoryError
                return kernel(*arguments)

            monkeypatch.setattr(sweep, name, raising)
        for commit in range(300):
            changed(db, numbers, chance, 2)
            if commit % 50 == 0:
                db.verify()
        db.verify()
        assert failing[0] > 200


def test_a_text_has_one_code_after_a_sweep_that_was_given_up(monkeypatch):
    monkeypatch.setattr(sweep, "AT_ONCE", 4)
    monkeypatch.setattr(sweep, "PACE", Pace(least=1, piece=1, growth=0, worth=0, base=1, rate=0))
    texts = [f"text {number}" for number in range(300)]
    for pieces in range(10, 250, 20):
        dictionary = TextDictionary()
        dictionary.codes(texts)
        running = Sweep(dictionary, list)
        while len(dictionary.old) == 0:  # which those leave that have a mark
            running.work()
        for _ in range(pieces):
            running.work()
        running._running = _interrupted()
        with pytest.raises(KeyboardInterrupt):
            running.work()
        some = texts[pieces % 7 :: 40]
        known = [dictionary.code(text) for text in some]
        dictionary.codes([f"other {number}" for number in range(3000)])
        assert [dictionary.code(text) for text in some] == known


def _interrupted():
    yield 0
    raise KeyboardInterrupt


def test_readers_while_texts_are_freed():
    with sweeping("slow"):
        db = filled(compile="off")
        db.sql(
            "CREATE MATERIALIZED VIEW v AS SELECT n, string_agg(s, ',' ORDER BY id) AS x, list(s) AS y FROM t GROUP BY n"
        )
        wrong: list[object] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                for n, text, texts in db.view("v").fetchall():
                    if any(f" {n} " not in part for part in (*text.split(","), *texts)):
                        wrong.append((n, text, texts))
                for n, text in db.sql("SELECT n, s FROM t").fetchall():
                    if f" {n} " not in text:
                        wrong.append((n, text))

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number in range(400):
                with db.transaction() as tx:
                    tx.upsert("t", [{"id": i, "s": f"text {i % 3} {number}", "u": None, "n": i % 3} for i in range(9)])
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert wrong == []


class Kept:
    """Somebody who keeps the codes of texts."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def codes(self):
        """All of them."""
        yield np.array([0, *self.known.values()])


@pytest.mark.parametrize("base", [1, 100, 1 << 40])
def test_the_dictionary_against_a_model(monkeypatch, base):
    monkeypatch.setattr(sweep, "PACE", Pace(least=500, piece=1, growth=0, worth=0, base=base, rate=1))
    monkeypatch.setattr(sweep, "AT_ONCE", 16)
    dictionary, kept, chance = TextDictionary(), Kept(), random.Random(base)
    literals = Literals(dictionary)
    for text in ("", "a literal"):
        kept.known[text] = literals.code(text)
    sweeper = Sweep(dictionary, lambda: [("kept", kept)])  # type: ignore[list-item]
    for commit in range(6000):
        text = chance.choice(["", "x" * chance.randrange(40)]) + str(chance.randrange(500))
        kept.known[text] = dictionary.code(text)
        if len(kept.known) > 80:
            del kept.known[chance.choice(list(kept.known)[2:])]
        sweeper.work()
        if commit % 50 == 0:
            assert dictionary.now().strings(np.array([*kept.known.values()])) == [*kept.known]
            assert dictionary.codes([*kept.known]).tolist() == [*kept.known.values()]
    assert len(dictionary) < 400
    assert dictionary.count < 600


def test_codes_are_given_out_again_however_many_sweeps_there_were(monkeypatch):
    monkeypatch.setattr(sweep, "PACE", Pace(least=500, piece=1, base=64, rate=1))
    monkeypatch.setattr(sweep, "AT_ONCE", 16)
    dictionary, kept, chance = TextDictionary(), Kept(), random.Random(1)
    sweeper, most = Sweep(dictionary, lambda: [("kept", kept)]), 0  # type: ignore[list-item]
    for commit in range(8000):
        for number in range(200 if chance.random() < 0.02 else 5):  # some come while others are moved
            kept.known[f"{commit} {number}"] = dictionary.code(f"{commit} {number}")
        while len(kept.known) > 400:
            del kept.known[chance.choice(list(kept.known))]
        sweeper.work()
        most = max(most, dictionary.count)
    assert dictionary.now().strings(np.array([*kept.known.values()])) == [*kept.known]
    assert most < 4 * 400  # one and a half times that many where those that come while others are moved get new ones


def test_texts_that_come_during_a_sweep_are_not_to_be_had(monkeypatch):
    monkeypatch.setattr(sweep, "PACE", Pace(least=500, piece=1, base=1, rate=0))
    monkeypatch.setattr(sweep, "AT_ONCE", 16)
    dictionary, kept = TextDictionary(), Kept()
    sweeper = Sweep(dictionary, lambda: [("kept", kept)])  # type: ignore[list-item]
    heap = dictionary.heap
    for commit in range(2000):
        kept.known[str(commit)] = dictionary.code(str(commit))
        sweeper.work()
    assert dictionary.heap is heap


def test_a_piece_takes_a_bounded_time_however_much_text_has_come(monkeypatch):
    monkeypatch.setattr(sweep, "PACE", Pace(least=500, piece=1, base=1, rate=1, most=100))
    dictionary, looked_at = TextDictionary(), [0]
    sweeper = Sweep(dictionary, list)

    def codes() -> Iterator[int]:
        while True:
            looked_at[0] += 10
            yield 10

    monkeypatch.setattr(sweeper, "_sweep", codes)
    dictionary.code("x" * 1000)
    assert sweeper.work() == 0
    dictionary.code("y" * 5000)
    owed, pieces = 1, 0
    while owed:
        before = looked_at[0]
        owed, pieces = sweeper.work(), pieces + 1
        assert looked_at[0] - before <= 100
    assert pieces > 50
    assert looked_at[0] >= 5000


def test_whoever_makes_a_view_frees_the_texts_that_he_has_made(monkeypatch):
    monkeypatch.setattr(sweep, "PACE", Pace(least=500, piece=1, growth=0, worth=0, base=1, most=64))
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, s VARCHAR)")
    db.apply({"t": [{"a": a, "s": f"text {a}"} for a in range(200)]})
    db.apply({"t": [{"a": a, "s": f"other {a}"} for a in range(50)]}, mode="upsert")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a, s || ' and more of it' AS s FROM t")
    assert engine_of(core_of(db)).tidy_texts() == 0


def test_small_commits_put_the_work_of_a_sweep_together(monkeypatch):
    monkeypatch.setattr(sweep, "PACE", Pace(least=500, growth=0, worth=0, base=10, rate=0, piece=100))
    pieces, go_on = list[int](), Sweep._go_on

    def piece(*given: Any) -> None:
        pieces.append(commit)
        go_on(*given)

    monkeypatch.setattr(Sweep, "_go_on", piece)
    dictionary = TextDictionary()
    sweeper = Sweep(dictionary, list)
    dictionary.codes([f"text {number}" for number in range(100)])
    for commit in range(45):  # noqa: B007  the last one is asked for
        assert sweeper.work() == sweeper.owed == 0
    assert pieces == [9, 19, 29, 39]
