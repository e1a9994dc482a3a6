"""A view that is shown in a notebook, and drawn again: as a widget, and where there is no anywidget."""

from __future__ import annotations

import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import start_new_kernel

import ivm
from ivm.subscriptions import live_widget
from tests.browser import browser, found_browser
from tests.house.modules import ROOT

WIDGET = "application/vnd.jupyter.widget-view+json"
CELL = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import ivm
db = ivm.connect(compile="off")
db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, price DECIMAL(9,2))")
db.sql("CREATE MATERIALIZED VIEW revenue AS SELECT sum(price) AS total FROM sale")
live = db.view("revenue").live(every="1ms")
live
"""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What a notebook is told to show."""
    shell = InteractiveShell.instance(colors="nocolor")
    publisher = CapturingDisplayPublisher()
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield publisher.outputs
    InteractiveShell.clear_instance()


@pytest.fixture
def without_anywidget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    live_widget._kind.cache_clear()
    yield
    live_widget._kind.cache_clear()


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


@pytest.mark.usefixtures("without_anywidget")
def test_it_is_drawn_again_when_the_view_has_changed(db, shown):
    view = db.view("revenue")
    with view.live(every="1ms") as live:
        assert live.widget is None
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


@pytest.mark.usefixtures("without_anywidget")
def test_it_ends_with_its_view_and_its_database(db, shown):
    dropped = db.view("revenue").live()
    db.sql("DROP VIEW revenue")
    _until(lambda: not dropped.running)
    assert "was dropped" in shown[-1]["data"]["text/html"]
    db.sql("CREATE MATERIALIZED VIEW revenue AS SELECT city FROM sale")
    closed = db.view("revenue").live()
    db.close()
    _until(lambda: not closed.running)


def test_a_widget_changes_by_itself(db, shown):
    with db.view("revenue").live(every="1ms") as live, db.view("revenue").live(every="1ms") as other:
        assert [WIDGET in each["data"] for each in shown] == [True, True]
        db.sql("INSERT INTO sale VALUES (1, '<Bern>', 2.50)")
        _until(lambda: "2.50" in live.widget.drawn and "2.50" in other.widget.drawn)
        assert "&lt;Bern&gt;" in live.widget.drawn
        other.close()
        db.sql("DELETE FROM sale")
        _until(lambda: "2.50" not in live.widget.drawn)
        assert "2.50" in other.widget.drawn
        db.sql("DROP VIEW revenue")
        _until(lambda: not live.running)
        assert "was dropped" in live.widget.drawn
        assert len(shown) == 2


def test_a_kernel_of_jupyter_tells_of_each_change():
    manager, client = start_new_kernel()
    try:
        told: list[dict[str, Any]] = []

        def run(code: str) -> None:
            answer = client.execute_interactive(code, output_hook=told.append, timeout=60)
            assert answer["content"]["status"] == "ok", answer["content"]

        def drawn() -> list[str]:
            states = [each["content"]["data"].get("state", {}) for each in told if each["msg_type"].startswith("comm_")]
            return [state["drawn"] for state in states if "drawn" in state]

        run(CELL)
        assert [WIDGET in each["content"]["data"] for each in told if each["msg_type"] == "display_data"] == [True]
        assert not [each for each in told if each["msg_type"] == "execute_result"]
        assert "NULL" in drawn()[-1]
        run("db.sql('INSERT INTO sale VALUES (1, 2.50)')")
        end = time.monotonic() + 20
        while "2.50" not in drawn()[-1]:
            assert time.monotonic() < end
            told.append(client.get_iopub_msg(timeout=20))
        run("live.close(); db.close()")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.skipif(found_browser() is None, reason="Chromium is not installed; apt-get install chromium")
def test_its_script_draws_and_lights_up_what_is_new(tmp_path):
    script = (Path(live_widget.__file__).with_name("live.js")).read_bytes()
    with browser(found_browser() or "", tmp_path) as page:
        page.run(f"""
            import("data:text/javascript;base64,{b64encode(script).decode()}").then(({{ default: widget }}) => {{
                const row = (text) => `<tr><td>${{text}}</td></tr>`, table = (...rows) => `<table><tbody>${{rows.map(row).join("")}}</tbody></table>`;
                window.told = [];
                const model = {{ drawn: table("a", "b"), get: (name) => model[name], on: (_, call) => {{ window.told.push(call); }}, off: () => {{ window.told.pop(); }} }};
                window.lit = () => [...document.querySelectorAll("tr")].filter((each) => each.getAnimations().length).map((each) => each.textContent);
                window.leave = widget.render({{ model, el: document.body }});
                window.say = (...rows) => {{ model.drawn = table(...rows); window.told[0](); }};
            }})""")
        assert (page.text("table"), page.run("lit()")) == ("a\nb", [])
        page.run("say('b', 'c')")
        assert (page.text("table"), page.run("lit()")) == ("b\nc", ["c"])
        page.run("leave()")
        assert page.run("told.length") == 0
        page.check()


def test_it_needs_a_notebook(db):
    with pytest.raises(ivm.InterfaceError, match="no notebook runs here"):
        db.view("revenue").live()
    with pytest.raises(ivm.TypeMismatchError, match="rows is -1"):
        db.view("revenue").live(-1)
