"""At the end of a case: who subscribes to the rows of one value has those that DuckDB chooses, and sees them go."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import ivm
from tests.random.bags import Bag, bag_of, changed, same
from tests.random.names import quoted
from tests.random.tables import Table

_QUERIES = (
    "SELECT * FROM {view} WHERE {column} = ?",
    "SELECT {column}, count(*) AS n FROM {view} WHERE {column} = ? GROUP BY {column}",
)


def differences(db: ivm.Database, view: str, tables: Sequence[Table], folded: bool) -> list[str]:
    """The queries over a view that were told otherwise than DuckDB answers them; all rows of the tables are gone then."""
    rows, asked = db.view(view).arrow(), list[tuple[str, object]]()
    for name in rows.column_names[:2] if rows.num_rows else ():
        value = rows.column(name)[0].as_py()
        if not isinstance(value, list | dict | tuple):
            asked += [(query.format(view=quoted(view), column=quoted(name)), value) for query in _QUERIES]
    told = [(query, value, db.subscribe(query, [value], snapshot=True), Bag()) for query, value in asked]
    found = list[str]()
    for table in (None, *reversed(tables)):
        if table is not None:
            with suppress(ivm.Error):  # a view may fail on the way
                db.sql(f"DELETE FROM {quoted(table.name)}")
        for place, (query, value, subscription, bag) in enumerate(told):
            told[place] = query, value, subscription, changed(bag, subscription.fetch().to_pylist(), folded)
            if not same(told[place][-1], bag_of(db.sql(query, [value]).arrow(), folded)):
                found.append(f"{query} [{value!r}]")
    return found
