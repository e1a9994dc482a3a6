"""The ordered kind of state: random steps, undone or final, readers meanwhile, and segments to another dictionary."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR, decimal
from ivm.kernels.ordered.batch import add_rows
from ivm.operators.window_layout import WindowLayout
from ivm.sql.ir.relation import Get, Order, Window
from ivm.sql.ir.scalar import Column
from ivm.sql.ir.window_function import Frame, WindowFunction
from ivm.trace.columns.column import Column as Values
from ivm.trace.columns.segment import Segment, column_to_arrow
from ivm.trace.ordered.ordered_tree import OrderedReader, OrderedRows
from ivm.trace.ordered.row_order import RowOrder, Term
from ivm.trace.ordered.window_tree import WindowReader
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import to_delta
from tests.states import rollback, seal, step
from tests.windows.worlds import Driver

Bag = Counter[Any]

TYPES = (VARCHAR, DOUBLE, decimal(30, 4))
TEXTS = [None, "", "a", "b", "é", "abcdefghij"]
CHUNK = 64


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ivm.trace.ordered.ordered_tree._CHUNK", CHUNK)
    monkeypatch.setattr("ivm.trace.ordered.window_tree._CHUNK", CHUNK)


def of_process(segments: list[Segment]) -> list[Segment]:
    """The segments as another process reads them."""
    found = []
    for segment in segments:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, segment.batch.schema) as writer:
            writer.write_batch(segment.batch)
        found.append(Segment(pa.ipc.open_stream(sink.getvalue()).read_next_batch()))
    return found


def rows_of(columns: list[Values], types: Any, dictionary: TextDictionary) -> list[Any]:
    """Columns as rows of Python values."""
    arrays = [column_to_arrow(c, t, dictionary.now()).to_pylist() for c, t in zip(columns, types, strict=True)]
    return list(zip(*arrays, strict=True))


class Rows:
    """Ordered rows of some groups."""

    def __init__(self, places: bool) -> None:
        self.dictionary = TextDictionary()
        order = RowOrder(tuple(Term(i, t, True, i % 2 == 0, i > 1) for i, t in enumerate(TYPES)))
        self.rows = OrderedRows(order, self.dictionary, places=places)

    def change(self, updates: Bag, stop: int | None = None) -> None:
        """Add rows, with their slots, or only the first of them, as if the kernel had been stopped."""
        types = tuple((t, True) for t in (BIGINT, *TYPES))
        slots, *columns = to_delta([(row, 0, d) for row, d in updates.items()], types, self.dictionary).columns()
        batch = self.rows.batch(
            columns, slots.values.astype(np.int64), diffs=np.array(list(updates.values()), np.int64)
        )
        tree = self.rows.changing(batch)
        if stop is not None:
            batch = batch._replace(keys=batch.keys[:stop])
        add_rows(*tree, *batch, len(batch.keys), 1, False)

    def bag(self, reader: OrderedReader | None = None) -> Bag:
        """What a reader sees, of now by default."""
        found: Bag = Counter()
        width = len(self.rows.kinds)
        for entries in (reader or self.rows.reader()).read():
            columns = self.rows.row_order.decode(np.ascontiguousarray(entries[:, 1:width]))
            rows = rows_of(columns, TYPES, self.dictionary)
            for slot, row, count in zip(entries[:, 0].tolist(), rows, entries[:, width].tolist(), strict=True):
                assert (slot, *row) not in found
                found[(slot, *row)] = count
        return found


def some_updates(random: Random, held: Bag) -> Bag:
    """Rows that come and rows that go."""
    found: Bag = Counter()
    for _ in range(random.choice([1, 5, 300])):
        number = random.randrange(-9, 9)
        row = (random.randrange(4), random.choice(TEXTS), random.choice([None, number / 4]), None)
        found[row] += random.randrange(1, 3)
    if random.random() < 0.7:
        for row in random.sample(sorted(held, key=repr), len(held) * random.randrange(1, 5) // 4):
            found[row] -= random.randrange(1, held[row] + 1)
    return +found | Counter({row: diff for row, diff in found.items() if diff < 0})


def added(bag: Bag, updates: Bag) -> Bag:
    """The rows with the updates."""
    total = Counter(bag)
    total.update(updates)
    return Counter({row: count for row, count in total.items() if count})


@pytest.mark.parametrize("seed", range(6))
def test_ordered_rows_keep_the_contract(seed: int) -> None:
    random, rows = Random(seed), Rows(seed % 2 == 0)
    held: Bag = Counter()
    readers: list[tuple[OrderedReader, Bag]] = []
    for _ in range(25):
        marks = []
        for _ in range(random.randrange(1, 4)):
            marks.append((rows.rows.mark(), held))
            updates = some_updates(random, held)
            if random.random() < 0.3:
                rows.change(updates, random.randrange(len(updates) + 1))
                rows.rows.rollback(marks[-1][0])
                assert rows.bag() == held
            rows.change(updates)
            held = added(held, updates)
        assert rows.bag() == held
        if random.random() < 0.4:
            mark, held = random.choice(marks)
            rows.rows.rollback(mark)
            assert rows.bag() == held
        rows.rows.seal(1, 1)
        readers.append((rows.rows.reader(), held))
        readers = random.sample(readers, min(len(readers), 3))
        for reader, then in readers:
            assert rows.bag(reader) == then
    restored = Rows(seed % 2 == 0)
    restored.dictionary.code("something else")
    restored.rows.restore(of_process(list(rows.rows.segments())))
    assert restored.bag() == held
    updates = some_updates(random, held)
    restored.change(updates)
    assert restored.bag() == added(held, updates)


def test_a_reader_goes_on_where_it_was() -> None:
    rows = Rows(False)
    rows.change(Counter({(0, None, float(n), None): 1 for n in range(500)}))
    rows.rows.seal(1, 1)
    chunks, met = rows.rows.reader().read(), []
    for turn in range(20):
        entries = next(chunks, None)
        if entries is None:
            break
        met += entries[:, -1].tolist()
        rows.change(Counter({(0, None, float(n), None): -1 for n in range(turn, 500, 20)}))
        rows.change(Counter({(0, None, float(n) + 0.5, None): 1 for n in range(turn, 500, 20)}))
        rows.rows.seal(1, 1)
    assert met == [1] * 500


def window() -> Window:
    """Sums of doubles and values over a table with texts."""
    table = Get("t", (Field("g", BIGINT), Field("s", VARCHAR), Field("d", DOUBLE)))
    functions = (
        WindowFunction("sum", (Column(2, DOUBLE, True),), DOUBLE, True, Frame(None, 0)),
        WindowFunction("max", (Column(1, VARCHAR, True),), VARCHAR, True, Frame(-2, 1)),
        WindowFunction("row_number", (), BIGINT, False),
    )
    return Window(table, (0,), (Order(1),), functions, ("a", "b", "c"))


def some_rows(random: Random, held: Bag, widest: int) -> list[Any]:
    """Updates of the table, whose doubles have exponents up to `widest`."""
    new = [
        (random.randrange(3), random.choice(TEXTS), random.choice([None, 2.0 ** random.randrange(-widest, widest)]))
        for _ in range(random.choice([1, 10, 100]))
    ]
    gone = random.sample(sorted(held, key=repr), len(held) * random.randrange(4) // 4)
    return [(row, 1, 1) for row in new] + [(row, 1, -1) for row in gone]


def shown(driver: Driver, reader: WindowReader[WindowLayout]) -> Bag:
    """What a reader of a window's rows sees."""
    found: Bag = Counter()
    for layout, words, diffs in reader.read():
        rows = rows_of(layout.columns(words), driver.output, driver.dictionary)
        for row, diff in zip(rows, [1] * len(rows) if diffs is None else diffs.tolist(), strict=True):
            found[row] += diff
    return Counter({row: count for row, count in found.items() if count})


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_windows_keep_the_contract(seed: int) -> None:
    random, driver = Random(seed), Driver(window())
    held: Bag = Counter()
    readers: list[tuple[WindowReader[WindowLayout], Bag]] = []
    for turn in range(20):
        updates = some_rows(random, held, 1 + turn // 4 * 30)
        now = shown(driver, driver.operator._rows.reader())
        driver.step(updates)
        if random.random() < 0.4:
            rollback(driver.operator)
            assert shown(driver, driver.operator._rows.reader()) == now
            driver.step(updates)
        seal(driver.operator)
        for row, _, diff in updates:
            held[row] += diff
        held = +held
        assert sum(held.values()) == len(driver.operator._rows)
        reader = driver.operator._rows.reader()
        readers.append((reader, shown(driver, driver.operator._rows.reader())))
        readers = random.sample(readers, min(len(readers), 3))
        for each, then in readers:
            assert shown(driver, each) == then
    other = Driver(window())
    other.dictionary.code("something else")
    tree = other.operator._rows
    tree.restore(of_process(list(driver.operator._rows.segments())))
    assert shown(other, tree.reader()) == shown(driver, driver.operator._rows.reader())


def test_several_steps_of_a_window_are_undone_with_sums_that_were_widened_meanwhile() -> None:
    driver = Driver(window())
    driver.commit([((0, "a", 1.0), 1, 1), ((0, "b", 2.0), 1, 1)])
    rows = driver.operator._rows
    then, mark = shown(driver, rows.reader()), rows.mark()
    for widest in (1, 200, 900):
        for update in (((0, "a", 1.0), 2, -1), ((0, "a", 1.0), 3, 1), ((0, "c", 2.0**widest), 3, 1)):
            step(driver.operator, [to_delta([update], driver.types, driver.dictionary)])
    assert len(rows) == 5
    rows.rollback(mark)
    assert shown(driver, rows.reader()) == then
