"""The rows of a table on disk: parts that are written once, and which of their rows live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.catalog.schema import Table
from ivm.durable.files import Files, Reading
from ivm.durable.manifest import Part, TableFiles
from ivm.storage.stored import Stored
from ivm.trace.columns.arrow import arrow_type, bools_from, bools_in, numbers_from, numbers_in
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.columns.in_place import is_readable_in
from ivm.trace.columns.segment import LARGE
from ivm.trace.columns.stand_ins import of_dictionary, with_leaves
from ivm.trace.rows.rows_reader import Lives, RowsReader

_LIVING = "living"
_ROW, _TIME, _DIED = "row", "time", "died"
_FAN = 2
PART_ROWS = 1 << 20
"""No part has more rows, so that several are read side by side."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The rows of a store from number `first` to `stop`, as a part has them: but for `gone`, counted from `first`."""

    part: Part
    first: int
    stop: int
    gone: Ints


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """What is on disk of a table whose rows have these numbers, and its columns these names; so many of its rows are
    dead. `since`: after which time it is known when rows came and died, as `past` says.
    """

    numbering: object
    names: tuple[str, ...]
    stretches: tuple[_Stretch, ...]
    dead: int
    living: Stored | None
    since: int
    past: Stored | None

    @property
    def files(self) -> TableFiles:
        """What a manifest says of it."""
        return TableFiles([each.part for each in self.stretches], self.living, self.since, self.past)


def read_rows(reading: Reading, files: TableFiles, table: Table) -> tuple[list[pa.RecordBatch], Ints, Lives]:
    """The rows of a table, which lie where its files are mapped, the numbers of those that are dead, and when they came
    and died.

    StorageError if they are not as they were written.
    """
    batches = [batch for part in files.parts for batch in reading.batches(part.written)]
    rows = sum(batch.num_rows for batch in batches)
    living = [] if files.living is None else list(reading.batches(files.living))
    alive = np.concatenate([bools_in(batch.column(_LIVING)) for batch in living] or [_ALL])
    is_other = any(not _is_of(table, batch.schema) for batch in batches)
    if is_other or rows != sum(part.rows for part in files.parts) or (living and len(alive) != rows):
        raise StorageError(f"cannot read table {table.name}: its files do not fit together; restore them from a backup")
    return batches, np.flatnonzero(~alive), _lives_of(reading, files)


def _lives_of(reading: Reading, files: TableFiles) -> Lives:
    """When rows came and died."""
    read = [] if files.past is None else list(reading.batches(files.past))
    rows, times = (
        np.concatenate([numbers_in(each.column(name)) for each in read] or [_NONE]) for name in (_ROW, _TIME)
    )
    died = np.concatenate([bools_in(each.column(_DIED)) for each in read] or [_ALL])
    return Lives(files.since, rows[~died], times[~died], rows[died], times[died])


def _is_of(table: Table, schema: pa.Schema) -> bool:
    """Whether these are columns of a table, as `write_rows` writes them."""
    if schema.names != [field.name for field in table.fields]:
        return False
    return all(
        with_leaves(found, _plain) == with_leaves(arrow_type(field.type), _plain)
        or is_readable_in(of_dictionary(found), field.type)
        for found, field in zip(schema.types, table.fields, strict=True)
    )


def _plain(given: pa.DataType) -> pa.DataType:
    """The type of texts or bytes, of which there may be many, and in a dictionary."""
    return _FEW.get(of_dictionary(given), of_dictionary(given))


_FEW = {large: few for few, large in LARGE.items()}


def as_read(files: TableFiles, numbering: object, names: Sequence[str], dead: int) -> WrittenRows:
    """What is on disk of a table whose rows have just been read."""
    stretches, first = [], 0
    for part in files.parts:
        stretches.append(_Stretch(part, first, first + part.rows, _NONE))
        first += part.rows
    return WrittenRows(numbering, tuple(names), tuple(stretches), dead, files.living, files.since, files.past)


def write_rows(
    files: Files, names: Sequence[str], reader: RowsReader, known: WrittenRows | None, since: int
) -> WrittenRows:
    """Bring what is on disk up to date, with what was there after `since`. StorageError if that is not possible.

    Cost: writes the rows that came, a few times over where they come in small numbers, a bit a row, and 16 bytes for
    each row that died since and each time at which some came.
    """
    is_known = known is not None and known.numbering is reader.numbering and known.names == tuple(names)
    stretches = known.stretches if known is not None and is_known else ()
    since = max(since, known.since) if known is not None and is_known else since
    left = reader.since(since)
    alive, was_alive = reader.living(), left.living()
    kept, first = _left(stretches, reader.rows)
    for start in range(first, reader.rows, PART_ROWS):
        stop = min(start + PART_ROWS, reader.rows)
        stays = was_alive[start:stop]
        part = Part(files.write("rows", batches_of(left, names, start, stop)), int(np.count_nonzero(stays)))
        kept = (*kept, _Stretch(part, start, stop, np.flatnonzero(~stays)))
    past = _written_past(files, kept, reader.lives(since))
    there = np.concatenate([np.delete(alive[each.first : each.stop], each.gone) for each in kept] or [_ALL])
    dead = len(there) - int(np.count_nonzero(there))
    if known is not None and is_known and kept is known.stretches and dead == known.dead:
        return replace(known, since=since, past=past)
    living = files.write("living", [pa.record_batch({_LIVING: bools_from(there)})]) if dead else None
    return WrittenRows(reader.numbering, tuple(names), kept, dead, living, since, past)


def _written_past(files: Files, stretches: Sequence[_Stretch], lives: Lives) -> Stored | None:
    """When rows came and died, by their places on disk; None where none did."""
    if not len(lives.born) and not len(lives.dead):
        return None
    numbers = np.concatenate([np.delete(np.arange(each.first, each.stop), each.gone) for each in stretches] or [_NONE])
    places = np.searchsorted(numbers, np.concatenate([lives.first, lives.dead]))
    died = np.arange(len(places)) >= len(lives.first)
    times = np.concatenate([lives.born, lives.died])
    columns = {_ROW: numbers_from(places), _TIME: numbers_from(times), _DIED: bools_from(died)}
    return files.write("past", [pa.record_batch(columns)])


def _left(stretches: tuple[_Stretch, ...], rows: int) -> tuple[tuple[_Stretch, ...], int]:
    """The stretches that stay as they are, and the row from which on all is written: small parts again, with others.

    So a table has as many parts as the logarithm of its rows, beside large ones, and a row is written as often.
    """
    first = stretches[-1].stop if stretches else 0
    if first == rows:
        return stretches, first
    while stretches and stretches[-1].part.rows <= min(_FAN * (rows - first), PART_ROWS // 2):
        first, stretches = stretches[-1].first, stretches[:-1]
    return stretches, first


def batches_of(reader: RowsReader, names: Sequence[str], first: int, stop: int) -> Iterator[pa.RecordBatch]:
    """The rows of a store from one number up to another, dead ones included, as they are kept."""
    for columns in reader.kept(first, stop):
        yield pa.RecordBatch.from_arrays([_small(each) for each in columns], names=list(names))


def _small(array: pa.Array) -> pa.Array:
    """The array without a dictionary that is longer than it."""
    is_long = isinstance(array, pa.DictionaryArray) and len(array.dictionary) > len(array)
    return array.dictionary_decode() if is_long else array


_ALL: Bools = np.ones(0, np.bool_)
_NONE: Ints = np.empty(0, np.int64)
