"""SQLAlchemy by dialects of our own: in this process, on disk and in memory, and by the door of Postgres's protocol."""

from __future__ import annotations

import datetime
import threading
import uuid
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import registry

from tests.serve.postgres import served

registry.register("ivm", "ivm.sqlalchemy.dialects", "InProcess")
registry.register("ivm.psycopg", "ivm.sqlalchemy.dialects", "IvmPsycopg")
WAYS = ("memory", "disk", "door")


class Base(orm.DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "item"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(unique=True)
    price: orm.Mapped[Decimal | None] = orm.mapped_column(sa.Numeric(9, 2))
    day: orm.Mapped[datetime.date | None]
    stamp: orm.Mapped[datetime.datetime | None]
    mark: orm.Mapped[uuid.UUID | None]
    data: orm.Mapped[bytes | None]
    told: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(sa.JSON)
    weight: orm.Mapped[float | None]
    is_sold: orm.Mapped[bool] = orm.mapped_column(default=False)
    sales: orm.Mapped[list[Sale]] = orm.relationship(back_populates="item", order_by="Sale.id")


class Sale(Base):
    __tablename__ = "sale"
    __table_args__ = (sa.CheckConstraint("count > 0"), sa.Index("by_count", "count"))
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    item_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("item.id"))
    count: orm.Mapped[int]
    item: orm.Mapped[Item] = orm.relationship(back_populates="sales")


@pytest.fixture(params=WAYS)
def engine(request, tmp_path):
    if request.param == "door":
        with served(text="") as server:
            found = sa.create_engine(f"ivm+psycopg://ada@127.0.0.1:{server.port}/memory")
            yield found
            found.dispose()
        return
    found = sa.create_engine("ivm://" if request.param == "memory" else f"ivm:///{tmp_path / 'shop.ivm'}")
    yield found
    found.dispose()


def test_rows_and_what_there_is(engine):
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)  # what is there is left alone
    with engine.begin() as client:
        client.execute(
            sa.text(
                "CREATE MATERIALIZED VIEW sold AS SELECT name, sum(count) AS n FROM item JOIN sale ON item.id = item_id GROUP BY name"
            )
        )
        client.execute(sa.text("CREATE VIEW one AS SELECT 1 AS n"))
        client.execute(sa.text("CREATE SCHEMA eu"))
        client.execute(sa.text("CREATE TABLE eu.stock (k INTEGER)"))
    value = {
        "price": Decimal("2.50"), "day": datetime.date(2024, 2, 29), "stamp": datetime.datetime(2024, 2, 29, 12, 0, 0, 5),
        "mark": uuid.UUID(int=7), "data": b"\0\xff", "told": {"a": [1, None]}, "weight": 0.5,
    }  # fmt: skip
    with orm.Session(engine) as session:
        session.add(Item(name="ink", sales=[Sale(count=2), Sale(count=3)], **value))
        session.add_all(Item(name=f"pen {n}") for n in range(3))
        session.commit()
    with orm.Session(engine) as session:
        item = session.scalars(sa.select(Item).where(Item.name == "ink")).one()
        assert {name: getattr(item, name) for name in value} == value
        assert ([sale.count for sale in item.sales], item.is_sold, item.id) == ([2, 3], False, 1)
        item.sales[0].count = 10
        session.flush()
        assert session.scalar(sa.select(sa.func.sum(Sale.count))) == 13
        session.rollback()
        assert session.scalar(sa.select(sa.func.sum(Sale.count))) == 5
        names = session.scalars(
            sa.select(Item.name).where(Item.name.like("pen%")).order_by(Item.id.desc()).limit(2)
        ).all()
        assert names == ["pen 2", "pen 1"]
        with pytest.raises(sa.exc.IntegrityError):
            session.add(Item(name="ink"))
            session.commit()
    there = sa.inspect(engine)
    assert (sorted(there.get_table_names()), there.get_view_names()) == (["item", "sale"], ["one"])
    assert (there.get_materialized_view_names(), there.get_table_names("eu")) == (["sold"], ["stock"])
    assert (there.get_schema_names(), there.has_table("nope"), there.has_table("sold")) == (["eu", "main"], False, True)
    assert there.get_pk_constraint("item")["constrained_columns"] == ["id"]
    assert there.get_unique_constraints("item")[0]["column_names"] == ["name"]
    assert [(key["constrained_columns"], key["referred_table"]) for key in there.get_foreign_keys("sale")] == [
        (["item_id"], "item")
    ]
    assert len(there.get_check_constraints("sale")) == 1
    assert [(each["name"], each["column_names"]) for each in there.get_indexes("sale")] == [("by_count", ["count"])]
    assert "1" in there.get_view_definition("one")
    with pytest.raises(sa.exc.NoSuchTableError):
        there.get_columns("nope")
    known = sa.MetaData()
    known.reflect(engine, views=True)
    sold = known.tables["sold"]
    assert [str(column.type) for column in known.tables["item"].columns][:5] == [
        "INTEGER",
        "VARCHAR",
        "NUMERIC(9, 2)",
        "DATE",
        "TIMESTAMP",
    ]
    with engine.connect() as client:
        assert client.execute(sa.select(sold)).all() == [("ink", 5)]
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as client, engine.connect() as other:
        client.execute(sa.insert(Sale), [{"item_id": 1, "count": n} for n in (1, 1)])
        assert other.execute(sa.select(sold)).all() == [("ink", 7)]
    with engine.begin() as client:
        client.execute(sa.text("DROP VIEW sold"))
    Base.metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []


def test_connections_are_apart_and_of_one_database(tmp_path):
    engine = sa.create_engine(f"ivm:///{tmp_path / 'shop.ivm'}")
    with engine.begin() as client:
        client.execute(sa.text("CREATE TABLE t (k INTEGER PRIMARY KEY)"))
    first, second = engine.connect(), engine.connect()
    first.execute(sa.text("INSERT INTO t VALUES (1)"))
    assert second.execute(sa.text("SELECT count(*) FROM t")).scalar() == 0
    first.commit()
    second.rollback()
    assert second.execute(sa.text("SELECT count(*) FROM t")).scalar() == 1
    first.close()
    second.close()

    def add(n):
        with engine.begin() as client:
            client.execute(sa.text("INSERT INTO t VALUES (:k)"), {"k": n})

    threads = [threading.Thread(target=add, args=(n,)) for n in range(10, 20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    engine.dispose()
    with engine.connect() as client:  # opened again
        assert client.execute(sa.text("SELECT count(*) FROM t")).scalar() == 11
    engine.dispose()
