"""What came of a statement, as a client of Postgres's is told: its tag, and rows if it has some."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ivm.results.result import Result
from ivm.serve.postgres.messages import Described
from ivm.serve.postgres.types import TEXT, Shape, shapes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a statement. `rows`: None for one that gives none. `counts`: whether the tag ends with how many."""

    tag: str
    rows: pa.Table | None = None
    shapes: Sequence[Shape] = ()
    notices: tuple[bytes, ...] = ()
    """Messages that come before it."""

    counts: bool = False

    def told(self, shapes: Sequence[Shape] | None) -> Sequence[Shape]:
        """The types in which rows are sent: those that a client was told of before, if there are some."""
        return self.shapes if shapes is None or len(shapes) != len(self.shapes) else shapes

    def described(self, shapes: Sequence[Shape] | None) -> list[Described]:
        """The columns as a client is told of them."""
        assert self.rows is not None, "it gives rows"
        told = zip(self.rows.column_names, self.told(shapes), strict=True)
        return [shape.described(name) for name, shape in told]

    def tag_of(self, rows: int) -> str:
        """The tag where so many rows were sent."""
        return f"{self.tag} {rows}" if self.counts else self.tag


def outcome_of(word: str, text: str, result: Result) -> Outcome:
    """That of a statement that begins with a word, by what the database answered."""
    tag = _tag(word, text)
    if result.is_count:
        is_new = word in ("CREATE", "WITH")
        counted = "SELECT" if word == "CREATE" else _changing(text) if is_new else tag
        return Outcome(f"{counted}{' 0' if counted == 'INSERT' else ''} {result.rowcount}")
    if not result.columns:
        return Outcome(tag)
    rows = result.arrow()
    if word == "EXPLAIN":
        lines = [line for each in rows.columns[-1].to_pylist() for line in str(each).splitlines()]
        return of_texts("QUERY PLAN", lines, "EXPLAIN")
    if word in ("INSERT", "UPDATE", "DELETE", "MERGE"):
        return Outcome(f"{tag}{' 0' if word == 'INSERT' else ''} {rows.num_rows}", rows, shapes(rows.schema))
    return Outcome("SHOW" if word == "SHOW" else "SELECT", rows, shapes(rows.schema), counts=word != "SHOW")


def of_texts(name: str, texts: Sequence[str | None], tag: str) -> Outcome:
    """One column of texts."""
    return Outcome(tag, pa.table({name: pa.array(texts, pa.string())}), [Shape(TEXT)])


_KIND = re.compile(
    r"\w+\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+|UNIQUE\s+|UNLOGGED\s+)?(MATERIALIZED\s+VIEW|\w+)", re.IGNORECASE
)
_CHANGES = re.compile(r"\b(INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)


def _tag(word: str, text: str) -> str:
    if word not in ("CREATE", "DROP", "ALTER", "TRUNCATE", "COMMENT"):
        return word
    found = _KIND.search(text)
    return word if found is None or word == "COMMENT" else f"{word} {' '.join(found[1].upper().split())}"


def _changing(text: str) -> str:
    """The word of what a statement changes that begins with WITH."""
    found = _CHANGES.findall(text)
    return found[-1].upper() if found else "SELECT"
