"""The page of the server, clicked through in Chromium."""

from __future__ import annotations

import json

import pytest

import ivm
from ivm.serve import Settings, serve, user_with_password, user_with_token
from tests.browser import browser, found_browser

pytestmark = pytest.mark.skipif(
    found_browser() is None, reason="Chromium is not installed; apt-get install chromium, or name one in IVM_CHROMIUM"
)
ODD = "a <b>&'/?#% \"view"
SHOP = f"""
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2));
CREATE TABLE town (city VARCHAR PRIMARY KEY, land VARCHAR);
CREATE TABLE edge (a INTEGER, b INTEGER);
CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city ORDER BY city;
CREATE MATERIALIZED VIEW lands AS SELECT land, sum(price) AS total FROM sale JOIN town USING (city) GROUP BY land;
CREATE MATERIALIZED VIEW reach AS WITH RECURSIVE r AS (
    SELECT a, b FROM edge UNION SELECT r.a, edge.b FROM r JOIN edge ON r.b = edge.a) SELECT * FROM r;
CREATE MATERIALIZED VIEW "{ODD.replace('"', '""')}" AS SELECT city FROM sale;
CREATE VIEW plain AS SELECT * FROM sale;
INSERT INTO town VALUES ('Bern', 'CH'), ('Oslo', '<i>NO</i>');
INSERT INTO sale VALUES (1, 'Bern', 2.50), (2, 'Oslo', 4);
INSERT INTO edge VALUES (1, 2), (2, 3);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with browser(found_browser() or "", tmp_path_factory.mktemp("chromium")) as made:
        yield made


@pytest.fixture(scope="module")
def db():
    with ivm.connect(compile="off", history=100) as made:
        made.sql(SHOP)
        yield made


@pytest.fixture(scope="module")
def at(db):
    with serve(db, Settings(http=0)) as server:
        yield server.addresses["http"]


def view_link(name):
    return f"#names a[title={json.dumps(name)}]"


def check_places(page):
    """No box lies on another, and each is right of all that it reads: edges go from left to right."""
    places = page.run(
        "[...document.querySelectorAll('.node')].map((each) => each.getBoundingClientRect())"
        ".map(({left, right, top, bottom}) => ({left, right, top, bottom}))"
    )
    assert len(places) > 1
    for number, one in enumerate(places):
        for other in places[:number]:
            is_apart = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert is_apart or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
    ends = page.run(
        "[...document.querySelectorAll('.edge')].map((each) => [each.getPointAtLength(0).x, "
        "each.getPointAtLength(each.getTotalLength()).x])"
    )
    assert all(start < end for start, end in ends)


def test_overview(page, db, at):
    page.look(1280)
    page.go(at)
    page.until_text("revenue", "#busiest")
    page.until("document.querySelectorAll('#latency rect').length >= 3")
    page.until_text("sale", "#memory")
    assert "Views (5)" in page.run("document.querySelector('#names').textContent")
    assert "not maintained" in page.text("#names")
    before = db.time
    db.sql("INSERT INTO sale VALUES (10, 'Bern', 0)")
    page.until_text(f"{before + 1}time", "#tiles")
    page.click("#busiest a[href='#/view/revenue']")
    page.until_text("Bern", "#rows")
    page.check()


def test_rows_and_changes_as_they_come(page, db, at):
    page.go(at)
    page.click(view_link("revenue"))
    page.until_text("2.50", "#rows")
    page.until_text("none since", "#changes")
    db.sql("INSERT INTO sale VALUES (20, 'Rome', 7.10)")
    page.until_text("7.10", "#changes")
    page.until_text("7.10", "#rows")
    db.sql("DELETE FROM sale WHERE id = 20")
    page.until("document.querySelector('#changes tr.gone')?.textContent.startsWith('Rome')")
    page.until("!document.querySelector('#rows').textContent.includes('Rome')")
    page.click("#names a[title=sale]")
    page.until_text("primary key id", "#main")
    page.click("#names a[title=plain]")
    page.until_text("Oslo", "#rows")
    page.check()


def test_names_and_values_are_text_and_nothing_else(page, db, at):
    page.go(at)
    page.click(view_link(ODD))
    page.until_text("Bern", "#rows")
    assert page.text("h1") == ODD
    page.click(".tabs a:nth-child(2)")
    page.until_text(ODD.replace("a ", "view a ")[:12], "#graph")
    page.click(view_link("lands"))
    page.until_text("<i>NO</i>", "#rows")
    page.check()


def test_the_dataflow(page, db, at):
    page.go(f"{at}/#/view/lands/dataflow")
    page.until_text("table sale", "#graph")
    told = dict(db.sql("SELECT node, operator FROM ivm_dataflow WHERE list_contains(views, 'lands')").fetchall())
    assert set(page.run("[...document.querySelectorAll('.node')].map((each) => each.dataset.node)")) == set(told)
    check_places(page)
    join = next(node for node, operator in told.items() if operator == "join")
    page.until_text("idle", f"[data-node='{join}']")
    page.click(f"[data-node='{join}']")
    page.until_text("updates/s in", "#node")
    page.until("document.querySelectorAll('.node.off').length === 0")  # all of one view belongs to it
    for n in range(20):
        db.sql("INSERT INTO sale VALUES (?, 'Bern', 0)", [n + 100])
    page.until_text("/s in", f"[data-node='{join}']")
    page.until("document.querySelectorAll('.edge.flows').length > 2")
    table = next(node for node, operator in told.items() if operator == "table sale")
    page.click(f"[data-node='{table}']")
    page.until_text("Shared by", "#node")
    width = page.run("document.querySelector('#graph svg').getBoundingClientRect().width")
    page.click("[title=Larger]")
    assert page.run("document.querySelector('#graph svg').getBoundingClientRect().width") > width
    page.click("#node a[href='#/view/revenue']")
    page.until_text("Bern", "#rows")
    page.check()


def test_all_of_it_and_a_loop(page, db, at):
    page.go(at)
    page.click("#pages a[href='#/dataflow']")
    page.until_text("view reach", "#graph")
    assert (
        page.run("document.querySelectorAll('.node').length")
        == db.sql("SELECT count(*) FROM ivm_dataflow WHERE within = ''").fetchone()[0]
    )
    check_places(page)
    (loop,) = db.sql("SELECT node FROM ivm_dataflow WHERE operator = 'loop'").fetchone()
    page.click("[title='All of it']")
    page.click(f"[data-node='{loop}']")
    page.until_text("Within the loop", "#node")
    page.until("document.querySelectorAll('.node.off').length > 0")
    page.click(f"[data-node='{loop}']")
    page.until_text("Click a node", "#node")
    page.check()


def test_explain_and_statements(page, db, at):
    page.go(at)
    page.click(view_link("lands"))
    page.click(".tabs a:nth-child(3)")
    page.until_text("every operator is incremental", "#main")
    page.click("details:not([open]) summary")
    page.until("document.querySelectorAll('details[open]').length === 5")
    page.click("#pages a[href='#/sql']")
    page.write("#sql", "SELECT 12345678901234567890123 AS n, 0.10::DECIMAL(9,2) AS d, NULL AS nothing, [1.50] AS l")
    page.do("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, modifiers=2)
    page.until_text("12345678901234567890123", "#answer")
    assert [*page.text("#answer tbody").split("\t")][1:3] == ["0.10", "NULL"]
    page.write("#sql", "SELECT * FROM sals")
    page.click("#run")
    page.until_text("sale", "#answer .error")
    page.write("#sql", "SELECT city, count(*) AS n FROM sale GROUP BY city")
    page.click("#explain")
    page.until_text("reduce", "#answer pre")
    page.write("#sql", "CREATE TABLE made (id INTEGER)")
    page.click("#run")
    page.until_text("made", "#names")
    db.sql("DROP TABLE made")
    page.check()


def test_what_goes_away_is_told(page, db, at):
    db.sql("CREATE MATERIALIZED VIEW passing AS SELECT count(*) AS n FROM sale")
    page.go(f"{at}/#/view/passing")
    page.until_text("1 row", "#count")
    db.sql("DROP VIEW passing")
    page.until_text("was dropped", "#error")
    page.click("#pages a[href='#/']")
    page.until("document.querySelector('#error').hidden")
    page.go(f"{at}/#/view/nowhere")
    page.until_text("There is no view nowhere", "#main")
    page.go(f"{at}/#/view/%")
    page.until_text("URI", "#error")
    page.click("#pages a[href='#/sql']")
    page.until("document.querySelector('#error').hidden && !!document.querySelector('#sql')")


def test_who_may_do_what(page, db):
    users = user_with_token("bot", "s3cret"), user_with_password("ada", "ü x", "write")
    with serve(db, Settings(http=0, users=users)) as server:
        page.go(server.addresses["http"])
        page.until("document.querySelector('#door').open")
        page.write("#door-secret", "wrong")
        page.click("#door-enter")
        page.until("document.querySelector('#door').open && !document.querySelector('#door-said').hidden")
        page.write("#door-secret", "s3cret")
        page.click("#door-enter")
        page.until_text("revenue", "#names")
        page.until_text("bot, who may only read", "#who")
        page.click("#pages a[href='#/sql']")
        page.write("#sql", "DELETE FROM sale")
        page.click("#run")
        page.until_text("whose role is read", "#answer .error")
        assert db.sql("SELECT count(*) > 0 FROM sale").fetchone()[0]
        page.run("sessionStorage.clear()")
        page.go(server.addresses["http"])
        page.write("#door-name", "ada")
        page.write("#door-secret", "ü x")
        page.click("#door-enter")
        page.until("document.querySelector('#who').textContent === 'ada'")


def test_a_server_that_goes_and_comes_again(page, db):
    server = serve(db, Settings(http=0))
    port = int(server.addresses["http"].rpartition(":")[2])
    page.go(f"{server.addresses['http']}/#/view/revenue")
    page.until_text("Bern", "#rows")
    server.stop()
    page.until("!document.querySelector('#error').hidden")
    with serve(db, Settings(http=port)):
        page.until("document.querySelector('#error').hidden")
        db.sql("INSERT INTO sale VALUES (30, 'Riga', 3)")
        page.until_text("Riga", "#rows")


def test_shards(page):
    with ivm.connect(shards=2, compile="off") as db, serve(db, Settings(http=0)) as server:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL)")
        db.sql("CREATE MATERIALIZED VIEW cities AS SELECT city, count(*) AS n FROM sale GROUP BY city")
        page.look(1280)
        page.go(f"{server.addresses['http']}/#/view/cities/dataflow")
        page.until_text("idle", "#graph")
        operators = page.run(
            "[...document.querySelectorAll('.node .name')].map((each) => each.textContent.split(' ')[0])"
        )
        assert operators[:5] == ["table", "mfp", "reduce", "view", "channel"]
        assert page.run("document.querySelectorAll('.edge').length") == len(operators) - 1  # from end to end
        db.sql("INSERT INTO sale SELECT range, 'Bern' FROM range(10)")
        page.click("[data-node='1']")
        page.until_text("10 rows", "[data-node='1']")
        page.click("#pages a[href='#/']")
        page.until_text("cities", "#busiest")
        page.check()


def test_many_views_and_a_narrow_screen(page):
    with ivm.connect(compile="off") as db, serve(db, Settings(http=0)) as server:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, customer BIGINT)")
        db.sql(";".join(
            f"CREATE MATERIALIZED VIEW c{n} AS SELECT count(*) AS n FROM sale WHERE customer = {n}" for n in range(350)
        ))  # fmt: skip
        page.look(400)
        page.go(f"{server.addresses['http']}/#/dataflow")
        page.until_text("Pick a view", "#too-many")
        page.until_text("and 50 more", "#names")
        page.write("#find", "c349")
        page.until("document.querySelectorAll('#names a').length === 1")
        page.click("#names a")
        page.click(".tabs a:nth-child(2)")
        page.until_text("view c349", "#graph")
        for scheme in ("light", "dark"):
            page.look(400, scheme=scheme)
            assert page.run("document.documentElement.scrollWidth") <= 400
        page.check()
