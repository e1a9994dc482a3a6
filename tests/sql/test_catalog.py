from __future__ import annotations

import pytest

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError
from ivm.catalog.schema import Field, ForeignKey, Table, View
from ivm.catalog.types import BIGINT, INTEGER

A = Field("a", BIGINT, nullable=False)
B = Field("b", BIGINT)
ORDERS = Table("orders", (A, B), ("a",))


def view(name: str, *uses: str) -> View:
    return View(name, "SELECT", (A,), uses, maintained=True)


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog()
    catalog.add_table(ORDERS)
    catalog.add_view(view("revenue", "orders"))
    return catalog


def test_names_are_case_insensitive(catalog):
    assert catalog.lookup("OrDers") is catalog.table("ORDERS")
    assert catalog.view("Revenue").name == "revenue"
    assert catalog.find("nothing") is None


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.lookup("ordres"), "there is no table or view 'ordres'; did you mean 'orders'?"),
        (lambda c: c.lookup("zzz"), "there is no table or view 'zzz'"),
        (lambda c: c.table("revenue"), "'revenue' is a view"),
        (lambda c: c.view("orders"), "'orders' is a table"),
        (lambda c: c.view("revenu"), "did you mean 'revenue'"),
        (lambda c: c.add_table(ORDERS), "cannot create table 'orders': there is a table of that name"),
        (lambda c: c.add_view(view("orders")), "cannot create view 'orders': there is a table of that name"),
        (lambda c: c.add_view(view("v", "nope")), "there is no table or view 'nope'"),
        (lambda c: c.drop_table("orders"), "cannot drop table 'orders': used by view 'revenue'"),
        (lambda c: c.add_table(Table("t", ())), "no columns"),
        (lambda c: c.add_table(Table("t", (A, A))), "'a' is declared twice"),
        (lambda c: c.add_table(Table("t", (A,), ("x",))), "primary key names column 'x'"),
        (lambda c: c.add_table(Table("t", (A,), ("a", "a"))), "names a column twice"),
    ],
)
def test_what_is_wrong_is_said(catalog, ask, message):
    before = catalog.tables, catalog.views
    with pytest.raises(BindError, match=message.replace("?", r"\?")):
        ask(catalog)
    assert (catalog.tables, catalog.views) == before


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (ForeignKey(("b",), "nope", ()), "references 'nope', which is not a table"),
        (ForeignKey(("b",), "revenue", ()), "which is not a table"),
        (ForeignKey(("b",), "orders", ("b",)), r"must reference the primary key of 'orders', \(a\), not \(b\)"),
        (ForeignKey(("a", "b"), "orders", ()), "has 2 columns, but references 1"),
        (ForeignKey(("c",), "orders", ()), "'c', INTEGER, with 'a', BIGINT"),
        (ForeignKey(("x",), "orders", ()), "names column 'x'"),
    ],
)
def test_a_foreign_key_must_fit(catalog, key, message):
    with pytest.raises(BindError, match=message):
        catalog.add_table(Table("t", (A, B, Field("c", INTEGER)), ("a",), (key,)))


def test_a_foreign_key_without_columns_means_the_primary_key(catalog):
    table = catalog.add_table(Table("lines", (B,), (), (ForeignKey(("b",), "orders", ()),)))
    assert table.foreign_keys[0].referenced == ("a",)
    catalog.drop_view("revenue")
    with pytest.raises(BindError, match="a foreign key of table 'lines'"):
        catalog.drop_table("orders")


def test_a_table_may_reference_itself():
    catalog = Catalog()
    table = catalog.add_table(Table("staff", (A, B), ("a",), (ForeignKey(("b",), "staff", ("a",)),)))
    assert catalog.drop_table("staff") == table


def test_who_uses_whom(catalog):
    catalog.add_view(view("top", "revenue"))
    assert catalog.users_of("orders") == ("revenue",)
    assert catalog.users_of("revenue") == ("top",)
    with pytest.raises(BindError, match="cannot drop view 'revenue': used by view 'top'"):
        catalog.drop_view("revenue")
    catalog.drop_view("top")
    catalog.drop_view("revenue")
    catalog.drop_table("orders")
    assert catalog.tables == catalog.views == ()


def test_a_catalog_becomes_what_another_is(catalog):
    before = catalog.fixed()
    catalog.add_view(view("top", "revenue"))
    catalog.drop_view("top")
    catalog.drop_view("revenue")
    catalog.become(before)
    assert [v.name for v in catalog.views] == ["revenue"]
    assert catalog.tables == before.tables
