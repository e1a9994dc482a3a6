"""Segments: sealed state as Arrow record batches that say themselves what they are, for any process to read.

Nothing in them belongs to the process that wrote them: texts and lists are their values, not codes of a dictionary, and
get codes of the reader's dictionary there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ivm.catalog.errors import Error
from ivm.catalog.types import Kind, SqlType
from ivm.trace.columns.arrow import numbers_in, to_arrow, to_column
from ivm.trace.columns.column import Column, Ints
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Strings

Scalar = int | str | bool | None | Sequence["Scalar"]
"""What JSON has, and keeps exactly; doubles are columns."""

_KIND, _VERSION, _SCALARS = b"ivm.kind", b"ivm.version", b"ivm.scalars"
_COLUMN = "column {}"
_SAMPLE = 1 << 10
_REPEATED = 4
LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
"""By the types of texts and bytes, those in which their columns may be written that are large."""


@dataclass(frozen=True)
class Segment:
    """A record batch whose schema says what state it is of (`kind`), how it is written (`version`), and its scalars.

    Immutable. It can be written by `pyarrow.ipc` and read again anywhere.
    """

    batch: pa.RecordBatch

    @property
    def kind(self) -> str:
        """What state this is of."""
        return self._said(_KIND).decode()

    @property
    def version(self) -> int:
        """How it is written."""
        return int(self._said(_VERSION))

    @cached_property
    def scalars(self) -> Mapping[str, Scalar]:
        """What goes with the columns."""
        scalars: Mapping[str, Scalar] = json.loads(self._said(_SCALARS))
        return scalars

    @property
    def rows(self) -> int:
        """The length of the columns."""
        return int(self.batch.num_rows)

    def has(self, name: str) -> bool:
        """Whether there is a column called `name`."""
        return name in self.batch.schema.names

    def column(self, name: str) -> pa.Array:
        """The column called `name`."""
        return self.batch.column(name)

    def ints(self, name: str) -> Ints:
        """A column of whole numbers without NULL, not copied; nobody writes to it."""
        values: Ints = numbers_in(self.batch.column(name))
        return values

    def columns(self, types: Sequence[SqlType], dictionary: TextDictionary) -> list[Column]:
        """The columns that `columns_to_arrow` made arrays of, with codes of this dictionary."""
        return [to_column(self.column(_COLUMN.format(i)), type_, dictionary) for i, type_ in enumerate(types)]

    def number(self, name: str) -> int:
        """A scalar that is a whole number."""
        value = self.scalars[name]
        assert isinstance(value, int), f"the scalar {name} of a segment is {value!r}, not a whole number"
        return value

    def _said(self, key: bytes) -> bytes:
        metadata = self.batch.schema.metadata or {}
        if key not in metadata:
            raise Error(f"cannot read a segment: its schema does not say {key.decode()}; it was not written by ivm")
        value: bytes = metadata[key]
        return value


def segment_of(
    kind: str, columns: Mapping[str, pa.Array], scalars: Mapping[str, Scalar] | None = None, version: int = 1
) -> Segment:
    """A segment of columns of one length, by name."""
    metadata = {_KIND: kind, _VERSION: str(version), _SCALARS: json.dumps(dict(scalars or {}))}
    schema = pa.schema([pa.field(name, array.type) for name, array in columns.items()], metadata)
    return Segment(pa.RecordBatch.from_arrays(list(columns.values()), schema=schema))


class Segments:
    """What is left of a sequence of segments, taken by those that restore themselves from it, one after the other."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._left = iter(segments)
        self._next = next(self._left, None)

    def take(self, kind: str, version: int = 1) -> Segment:
        """The next one, which has to be of this kind. Error if it is not, or if there is none."""
        found = self.take_if(kind, version)
        if found is None:
            there = "nothing is left" if self._next is None else f"a segment of {self._next.kind} comes next"
            raise Error(f"cannot restore {kind}: {there}; the segments were written for another plan")
        return found

    def take_if(self, kind: str, version: int = 1) -> Segment | None:
        """The next one if it is of this kind. Error if it is written in another way than `version`."""
        found = self._next
        if found is None or found.kind != kind:
            return None
        if found.version != version:
            raise Error(
                f"cannot restore {kind}: its segment is of version {found.version}, and this release of ivm reads "
                f"version {version}; read it with the release that wrote it"
            )
        self._next = next(self._left, None)
        return found

    def all_of(self, kind: str, version: int = 1) -> Iterator[Segment]:
        """All that come next and are of this kind."""
        while (found := self.take_if(kind, version)) is not None:
            yield found


def column_to_arrow(column: Column, type: SqlType, strings: Strings) -> pa.Array:
    """A column as the Arrow array of its type, with its values exactly. Cost: a pass over texts and lists."""
    array = to_arrow(column, type, strings)
    return in_one(array) if isinstance(array, pa.ChunkedArray) else array


def columns_to_arrow(columns: Iterable[Column], types: Iterable[SqlType], strings: Strings) -> dict[str, pa.Array]:
    """Columns of these types as Arrow arrays, by the names under which `Segment.columns` finds them.

    Texts have a dictionary where each is there several times.
    """
    arrays = {}
    for i, (column, type_) in enumerate(zip(columns, types, strict=True)):
        array = column_to_arrow(column, type_, strings)
        arrays[_COLUMN.format(i)] = few_values(array) if type_.kind is Kind.VARCHAR else array
    return arrays


def few_values(texts: pa.Array) -> pa.Array:
    """The same texts, with a dictionary where each is there several times. Cost: a pass over some, mostly."""
    sample = texts.slice(0, _SAMPLE)
    if _REPEATED * len(sample.unique()) > len(sample):
        return texts
    found = texts.dictionary_encode()
    return found if _REPEATED * len(found.dictionary) <= len(texts) else texts


def in_one(array: pa.ChunkedArray) -> pa.Array:
    """The chunks as one array, of large offsets where it is text beyond 2 GiB."""
    try:
        whole = array.combine_chunks()
        if isinstance(whole, pa.Array):
            return whole
    except pa.ArrowInvalid:  # the offsets overflow
        pass
    return pa.concat_arrays([chunk.cast(LARGE.get(chunk.type, chunk.type)) for chunk in array.chunks])
