"""Texts of few rows that are read by one call, against texts that are read one by one."""

from __future__ import annotations

import ctypes
import gc
import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ivm
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, BOOLEAN, VARCHAR, SqlType
from ivm.intake.as_it_is import first_look
from ivm.kernels.memory.places import ADDRESS, STRIDE, VALIDITY
from ivm.render.scalars.text_memo import TextMemo
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Column
from ivm.trace.columns.few_texts import WantedTexts
from ivm.trace.columns.stored_rows import StoredRows
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Texts
from tests.random.bags import Bag, bag_of, changed
from tests.sweeps import sweeping

TEXTS = ["", "a", "é", "a long text of many bytes", "b"]
TYPES = [pa.string(), pa.large_string(), *(pa.dictionary(each, pa.string()) for each in (pa.int8(), pa.int32()))]


class Remembered:
    """How long texts are, or whether they are long, remembered by code."""

    def __init__(self, dictionary: TextDictionary, type_: SqlType) -> None:
        self.type = type_
        self._dictionary = dictionary
        self._memo = TextMemo(dictionary, self._of_new, type_.physical)
        self.calls = 0

    @property
    def memo(self) -> Any:
        return self._memo.words

    def value(self, text: str) -> Any:
        return len(text.encode()) if self.type is BIGINT else len(text) > 1

    def of_texts(self, texts: Texts) -> Column:
        return Column(np.array([self.value(text) for text in texts.strings()], self._dtype))

    def of_codes(self, column: Column) -> Column:
        return self._memo.lookup(column)

    @property
    def _dtype(self) -> Any:
        return np.int64 if self.type is BIGINT else np.bool_

    def _of_new(self, codes: Any) -> Column:
        self.calls += len(codes)
        return Column(np.array([self.value(text) for text in self._dictionary.now().strings(codes)], self._dtype))


def read_at(place: Any, dtype: Any, count: int) -> list[Any]:
    """The values at a place, one by one."""
    address, stride, size = place.item(ADDRESS), place.item(STRIDE), np.dtype(dtype).itemsize
    return [np.frombuffer(ctypes.string_at(address + stride * i, size), dtype)[0].item() for i in range(count)]


@given(data=st.data())
def test_places_tell_of_codes_and_of_functions(data: Any) -> None:
    """Of batches in every encoding, of which texts some are new, some are known, and some are NULL."""
    dictionary = TextDictionary()
    wanted = WantedTexts([VARCHAR], dictionary)
    readers = Readers([Reader(VARCHAR, dictionary)], wanted)
    functions = [Remembered(dictionary, BIGINT), Remembered(dictionary, BOOLEAN)]
    looks = {each: first_look(pa.schema([("x", each)]), [(0, Field("x", VARCHAR))]) for each in TYPES}
    for _ in range(data.draw(st.integers(1, 8))):
        some = st.sampled_from(TEXTS) if data.draw(st.booleans()) else st.none() | st.sampled_from(TEXTS)
        texts, type_ = data.draw(st.lists(some, max_size=9)), data.draw(st.sampled_from(TYPES))
        begin, look = data.draw(st.integers(0, len(texts))), looks[type_]
        part, texts = pa.record_batch([pa.array(texts, pa.string()).cast(type_)], names=["x"])[begin:], texts[begin:]
        assert look is not None
        batch = Batch(part, readers, look.at(part))
        for function in data.draw(st.permutations(functions)):
            number = batch.number_of(0, function)
            if None not in texts:
                places = batch.places((number,))
                assert read_at(places[number], function._dtype, len(texts)) == [function.value(text) for text in texts]
                values = batch.column((0, function)).values.tolist()
                assert values == [function.value(text) for text in texts]
        place = batch.places((0,))[0]
        codes = np.array(read_at(place, np.int32, len(texts)), np.int32)
        there = [text is not None for text in texts]
        if place[VALIDITY]:
            assert read_at(np.array([place[VALIDITY], 1]), np.bool_, len(texts)) == there
        assert dictionary.now().strings(codes[there]) == [text for text in texts if text is not None]
        assert dictionary.now().decode(*_of(batch.column(0))).to_pylist() == texts
    assert all(function.calls <= len(TEXTS) for function in functions)


def _of(column: Column) -> tuple[Any, Any]:
    return column.values, column.valid


def test_codes_that_were_read_are_not_given_to_a_function_over_a_scratch() -> None:
    """They are of the other dictionary; what reads the bytes, as nobody had read the codes, may not read these."""
    dictionary, scratch = TextDictionary(), TextDictionary()
    dictionary.codes(TEXTS), scratch.codes(TEXTS[::-1])
    wanted = WantedTexts([VARCHAR], dictionary)
    rows = pa.record_batch([pa.array(["a"])], names=["x"])
    look = first_look(rows.schema, [(0, Field("x", VARCHAR))])
    addresses = None if look is None else look.at(rows)
    assert addresses is not None
    batch = Batch(rows, Readers([Reader(VARCHAR, dictionary)], wanted), addresses)
    own, other = Remembered(dictionary, BIGINT), Remembered(scratch, BIGINT)
    own.of_codes(dictionary.encode(pa.array(TEXTS)))
    assert batch.computes(0, (other,))
    number = batch.number_of(0, own)
    places = batch.places((number,))
    assert places[0, STRIDE]
    assert places[number, STRIDE]
    assert batch.computes(0, (own,)) == wanted.numbering
    assert not batch.computes(0, (other,))
    assert not batch.computes(0, (own, other))


def test_what_a_function_says_of_stored_texts_whose_codes_are_known_is_remembered() -> None:
    dictionary = TextDictionary()
    store = TableStore(Table("t", (Field("x", VARCHAR),)), dictionary)
    store.apply(pa.record_batch([pa.array(TEXTS)], names=["x"]), None, 1)
    store.seal(2, 1)
    columns, function = store.store.columns, Remembered(dictionary, BIGINT)
    columns.wanted.want(0)
    dictionary.codes(TEXTS[:3])
    number, told = columns.wanted.number_of(0, function), []
    for rows in ([1, 2], [2, 1, 1], [1, 3], [0, 2]):
        places = StoredRows(columns, np.array(rows)).places((number,))
        assert read_at(places[number], np.int64, len(rows)) == [function.value(TEXTS[row]) for row in rows]
        told.append(function.calls)
    assert told == [2, 2, 2, 3], "texts without codes are read by their bytes"


def test_a_function_keeps_its_number_while_anybody_has_it() -> None:
    dictionary = TextDictionary()
    wanted = WantedTexts([BIGINT, VARCHAR], dictionary)
    functions = [Remembered(dictionary, BIGINT) for _ in range(wanted.most - 2)]
    numbers = [wanted.number_of(1, each) for each in functions]
    assert sorted(numbers) == list(range(2, wanted.most))
    one_more = Remembered(dictionary, BIGINT)
    assert wanted.number_of(1, one_more) == -1
    assert wanted.number_of(0, functions[0]) == -1
    free = numbers[3]
    del functions[3]
    gc.collect()
    assert [wanted.known(1, each) for each in functions] == [each for each in numbers if each != free]
    assert wanted.numbered(free) is None
    assert wanted.number_of(1, one_more) == free
    assert wanted.numbered(free) == (1, one_more)


VIEWS = {
    "same": "SELECT id FROM t WHERE kind = 'b' OR kind = 'new'",
    "alike": "SELECT id, note LIKE '%a%' AS has FROM t WHERE kind <> 'a'",
    "made": "SELECT id, upper(kind) AS k, substring(note, 1, 2) AS s FROM t",
    "of_made": "SELECT id, upper(kind) || '/' || lower(note) AS x, length(reverse(note)) AS n FROM t",
    "groups": "SELECT kind, count(*) AS n, max(note) AS note FROM t GROUP BY kind",
    "joined": "SELECT t.id, u.id AS other FROM t JOIN u ON t.kind = u.kind WHERE u.note LIKE 'a%'",
    "cut": "SELECT t.id, u.id AS other FROM t JOIN u ON substring(t.kind, 1, 1) = substring(u.kind, 1, 1)",
}


@pytest.mark.parametrize(("seed", "how"), [(0, None), (1, None), (2, "fast"), (3, "slow"), (4, "fast")])
def test_histories_of_few_rows(seed: int, how: str | None, tmp_path: Path) -> None:
    """Texts come in every form, go and come back, also in one commit that is undone, and when nobody has them.

    That is so while the dictionary is swept, beside somebody who reads what has changed, and after the database is
    opened again.
    """
    with sweeping(how) if how else nullcontext():
        _lives(random.Random(seed), tmp_path)


def _lives(chance: random.Random, path: Path) -> None:
    db = ivm.connect(path, compile="wait")
    texts = [None, "", "a", "b", "é", "new", "ab", "a long text of many bytes"]
    for table in "tu":
        db.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, kind VARCHAR, note VARCHAR NOT NULL)")
    for name, query in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    there: dict[str, list[int]] = {"t": [], "u": []}
    reader, read = db.subscribe("of_made"), Bag()
    for number in range(120):
        table = chance.choice("tu")
        if number % 3 == 2 and there[table]:
            chance.shuffle(there[table])
            gone = [there[table].pop() for _ in range(chance.randint(1, len(there[table])))]
            with db.transaction() as made:
                made.delete(table, [{"id": each} for each in gone])
        else:
            ids = [3 * number + i for i in range(chance.randint(1, 3))]
            kinds, notes = chance.choices(texts, k=len(ids)), chance.choices(texts[1:], k=len(ids))
            notes = [f"{note}{number}" if chance.random() < 0.3 else note for note in notes]
            kind, note = (chance.choice(TYPES) for _ in range(2))
            columns = {"id": pa.array(ids, pa.int32())}
            columns |= {"kind": pa.array(kinds, pa.string()).cast(kind), "note": pa.array(notes).cast(note)}
            rows = pa.table(columns)
            given = rows.to_pylist() if chance.random() < 0.3 else rows
            if chance.random() < 0.2:
                with pytest.raises(ivm.ConstraintError):
                    db.apply({table: [*rows.to_pylist(), rows.to_pylist()[0]]})
            db.apply({table: given})
            there[table] += ids
        if number % 40 == 20:
            db.sql("DROP VIEW made")
            db.sql(f"CREATE MATERIALIZED VIEW made AS {VIEWS['made']}")
        if chance.random() < 0.2:
            read = changed(read, reader.fetch().to_pylist())
            assert read == bag_of(db.view("of_made").arrow())
        if number % 20 == 19:
            db.verify()
        if number in (50, 90):
            read = changed(read, reader.fetch().to_pylist())
            db.close()
            db = ivm.connect(path, compile="wait")
            reader = db.subscribe("of_made")
    for table in "tu":
        db.sql(f"DELETE FROM {table}")
    db.verify()
    read = changed(read, reader.fetch().to_pylist())
    assert not read
    db.close()
