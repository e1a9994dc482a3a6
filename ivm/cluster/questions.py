"""What a shard is asked between commits, and answers in Arrow: rows of tables and views, sizes, what it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import pyarrow as pa

from ivm.cluster.resident import Resident
from ivm.distribute.placement import Replicated
from ivm.introspection import RELATIONS


@dataclass(frozen=True, slots=True)
class Question:
    """`kind`: "table", "view" (with the hidden columns, in no order; `as_of` a time that is kept), "changes" (of a view
    in the last commit that watched it), "sizes" (name, rows), or "relation" (one of `ivm_*`). `name`: of what.
    """

    kind: str
    name: str = ""
    as_of: int | None = None

    def text(self) -> bytes:
        """As bytes."""
        return json.dumps(asdict(self)).encode()


def read(text: bytes) -> Question:
    """What `text` made bytes of."""
    return Question(**json.loads(text))


def answer(resident: Resident, question: Question) -> pa.Table:
    """What a shard says, of rows that each shard has only what the first one says."""
    engine = resident.engine
    match question.kind:
        case "table":
            table = resident.catalog.table(question.name)
            rows = engine.tables[question.name].reading()()
            return rows.slice(0, 0) if table.replicated and resident.number else rows
        case "view":
            part = engine.views[question.name]
            found = part.shown(part.log.sealed, engine.dictionary.now(), question.as_of).rows()
            return found.slice(0, 0) if _is_repeated(resident, question.name) else found
        case "changes":
            return resident.told[question.name]
        case "sizes":
            names = [name for name, _ in _sizes(resident)]
            return pa.table({"name": names, "rows": pa.array([rows for _, rows in _sizes(resident)], pa.int64())})
        case "relation":
            return RELATIONS[question.name](engine)
    raise AssertionError(f"nobody asks for {question.kind}")


def _sizes(resident: Resident) -> Iterator[tuple[str, int]]:
    for name, store in resident.engine.tables.items():
        if not (resident.number and resident.catalog.table(name).replicated):
            yield name, store.count
    for name, installed in resident.engine.views.items():
        if not _is_repeated(resident, name):
            yield name, len(installed.log)


def _is_repeated(resident: Resident, view: str) -> bool:
    """Whether another shard has the same rows, and gives them."""
    return bool(resident.number) and isinstance(resident.views[view].placement, Replicated)

