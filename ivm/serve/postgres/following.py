"""SUBSCRIBE TO a view: its rows, then what changes in it, as Materialize tells that."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from ivm.serve.postgres.errors import FEATURE, SqlStateError
from ivm.serve.postgres.types import BOOL, INT8, Shape, shapes
from ivm.session.database import Database
from ivm.session.named import KEEP
from ivm.subscriptions.subscription import Subscription

TIME, PROGRESSED, DIFF = "mz_timestamp", "mz_progressed", "mz_diff"
_SUBSCRIBE = re.compile(
    r"""SUBSCRIBE\s+(?:TO\s+)?(?:\((?P<query>.*?)\)|(?:VIEW\s+|TABLE\s+)?
    (?P<view>(?:"[^"]*"|[\w$]+)(?:\.(?:"[^"]*"|[\w$]+))*))\s*
    (?:WITH\s*\((?P<options>(?:'[^']*'|[^()'])*)\)\s*)?(?:AS\s+OF\s+(?P<time>\d+)\s*)?""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_OPTION = re.compile(r"\s*(?P<word>\w+)\s*(?:=\s*)?(?:'(?P<text>(?:[^']|'')*)'|(?P<value>\w+))?\s*(?:,|$)")
_KNOWN = ("snapshot", "progress", "name", "keep")
_NO = ("false", "off", "0")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a SUBSCRIBE says. `view`: its name, or a query, if it `is_query`. `after`: from which time on changes are
    told, in the place of all rows first. `name`, `keep`: by which it goes on, see `Database.subscribe`.
    """

    view: str
    is_query: bool = False
    snapshot: bool = True
    progress: bool = False
    after: int | None = None
    name: str | None = None
    keep: int = KEEP

    def subscribed(self, db: Database) -> Following:
        """Who is told from now on. Raises what `Database.subscribe` raises."""
        snapshot = self.snapshot and self.after is None
        asked = db.sql(f"SELECT * FROM ({self.view}) LIMIT 0") if self.is_query else db.view(self.view)
        found = db.subscribe(
            self.view, snapshot=snapshot, from_time=self.after, progress=self.progress, name=self.name, keep=self.keep
        )
        return Following(found, asked.schema, self.progress)


def wanted(text: str) -> Wanted | None:
    """What a SUBSCRIBE says; None for any other text. SqlStateError for one that is not understood."""
    if text[:9].upper() != "SUBSCRIBE":
        return None
    found = _SUBSCRIBE.fullmatch(text)
    if found is None:
        raise SqlStateError(
            FEATURE, f"cannot carry out {text[:60]}; write SUBSCRIBE TO view [WITH (SNAPSHOT = false, PROGRESS)] [AS "
            "OF time], of a materialized view",
        )  # fmt: skip
    said = _options(found["options"] or "")
    after = None if found["time"] is None else int(found["time"])
    view = found["query"] or found["view"].replace('"', "")
    keep = said.get("keep", str(KEEP))
    if not keep.isdecimal():
        raise SqlStateError(FEATURE, f"KEEP is {keep!r}, and must be a number of rows")
    snapshot, progress = (said.get(each, no).lower() not in _NO for each, no in (("snapshot", ""), ("progress", "0")))
    return Wanted(view, found["query"] is not None, snapshot, progress, after, said.get("name"), int(keep))


def _options(text: str) -> dict[str, str]:
    """What is said in WITH, by words in lower case. SqlStateError for what is not understood."""
    said, at = dict[str, str](), 0
    while text[at:].strip():
        found = _OPTION.match(text, at)
        word = "" if found is None else found["word"].lower()
        if found is None or word not in _KNOWN:
            raise SqlStateError(
                FEATURE,
                f"SUBSCRIBE has no option {word or text[at:].strip()}; SNAPSHOT, PROGRESS, NAME and KEEP are known",
            )
        quoted = found["text"]
        said[word] = (found["value"] or "") if quoted is None else quoted.replace("''", "'")
        at = found.end()
    return said


class Following:
    """What changes in a view, in the columns that a client of Postgres's is told."""

    def __init__(self, subscription: Subscription, view: pa.Schema, progress: bool) -> None:
        self.subscription = subscription
        own = [pa.field(TIME, pa.int64()), *([pa.field(PROGRESSED, pa.bool_())] if progress else []),
               pa.field(DIFF, pa.int64())]  # fmt: skip
        self.schema = pa.schema([*own, *view])
        self.shapes = [*(Shape(BOOL if field.name == PROGRESSED else INT8) for field in own), *shapes(view)]

    def table(self, changes: pa.Table) -> pa.Table:
        """Changes as rows; one without rows, which is a mark of progress, as one row."""
        count = changes.num_rows or 1
        marks = pa.array([not changes.num_rows] * count, pa.bool_())
        told = dict(zip(changes.column_names, changes.columns, strict=True))
        told |= {TIME: told["_time"], DIFF: told["_diff"]}
        if not changes.num_rows:
            told = {name: pa.nulls(1, column.type) for name, column in told.items()}
            told[TIME] = pa.array([self.subscription.time], pa.int64())
        told[PROGRESSED] = marks
        return pa.Table.from_arrays([told[field.name] for field in self.schema], names=self.schema.names)
