"""A view that is shown in a notebook, and drawn again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import ivm


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What a notebook is told to show."""
    shell = InteractiveShell.instance(colors="nocolor")
    publisher = CapturingDisplayPublisher()
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield publisher.outputs
    InteractiveShell.clear_instance()


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off") as made:
        made.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9,2))")
        made.sql("CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city")
        yield made


def _until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_it_is_drawn_again_when_the_view_has_changed(db, shown):
    view = db.view("revenue")
    with view.live(every="1ms") as live:
        db.sql("INSERT INTO sale VALUES (1, '<Bern>', 2.50)")
        _until(lambda: "2.50" in shown[-1]["data"]["text/html"])
        assert "&lt;Bern&gt;" in shown[-1]["data"]["text/html"]
        db.sql("INSERT INTO sale VALUES (2, 'Oslo', 1.00)")
        _until(lambda: "Oslo" in shown[-1]["data"]["text/html"])
        assert len({each["transient"]["display_id"] for each in shown}) == 1
        assert [each["update"] for each in shown][:2] == [False, True]
    assert not live.running
    known = len(shown)
    db.sql("DELETE FROM sale")
    assert len(shown) == known


def test_it_ends_with_its_view_and_its_database(db, shown):
    dropped = db.view("revenue").live()
    db.sql("DROP VIEW revenue")
    _until(lambda: not dropped.running)
    assert "was dropped" in shown[-1]["data"]["text/html"]
    db.sql("CREATE MATERIALIZED VIEW revenue AS SELECT city FROM sale")
    closed = db.view("revenue").live()
    db.close()
    _until(lambda: not closed.running)


def test_it_needs_a_notebook(db):
    with pytest.raises(ivm.InterfaceError, match="no notebook runs here"):
        db.view("revenue").live()
    with pytest.raises(ivm.TypeMismatchError, match="rows is -1"):
        db.view("revenue").live(-1)
