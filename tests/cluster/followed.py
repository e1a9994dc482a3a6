"""What those who follow views read, against a database in one piece."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import ivm
from ivm.catalog.errors import BindError
from ivm.cluster.files.files import Files
from ivm.cluster.following.following import Changes, Contents, Following

Rows = Counter[tuple[Any, ...]]


Moment = tuple[int, int, Collection[str]]
"""A time of a folder, that of the other database, and the views that there were then and are now."""


def agree(root: Files, db: ivm.Database, moments: Sequence[Moment]) -> int:
    """Whether views are in a folder what they are in the other database, and the changes since; how often that was seen."""
    following, found = Following(root), 0
    now, catalog = following.known()
    for view in catalog.views:
        last = rows_of(db, view.name, db.time)
        assert accumulated(root, {}, following.contents(view, now)) == last
        for time, other, names in moments:
            if view.name not in names:
                continue
            try:
                rows = accumulated(root, {}, following.contents(view, time))
            except BindError:  # it is not there any more
                continue
            assert rows == rows_of(db, view.name, other), f"view {view.name} at {time}"
            assert accumulated(root, rows, following.changes(view, time, now)) == last, f"view {view.name} since {time}"
            found += 1
    return found


def accumulated(root: Files, rows: Iterable[Any], parts: Iterable[Changes | Contents]) -> Rows:
    """Rows with what is read of parts, anywhere."""
    found: Rows = Counter(rows)
    told = set[tuple[Any, ...]]()
    for part in pickle.loads(pickle.dumps(parts)):
        for table in part.rows(root):
            for *row, time, diff in zip(*table.to_pydict().values(), strict=True):
                change = (*map(_text, row), time)
                assert isinstance(part, Contents) or change not in told, "what shards tell is added up"
                told.add(change)
                found[change[:-1]] += diff
    assert all(n >= 0 for n in found.values())
    return Counter({row: n for row, n in found.items() if n})


def rows_of(db: ivm.Database, view: str, time: int) -> Rows:
    """What a database has in a view as of a time."""
    return Counter(tuple(map(_text, row.values())) for row in db.view(view).arrow(as_of=time).to_pylist())


def _text(value: Any) -> str:
    return repr(value + 0.0 if isinstance(value, float) else value)
