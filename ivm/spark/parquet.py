"""Reads parts of Parquet files in a worker, if they are what Spark would read; else it says so, and Spark does it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from ivm.cluster.protocol.terms import Unlike
from ivm.spark.scans import Part

_ROWS = 1 << 17
_SPARK = b"org.apache.spark.version"
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def argument_of(parts: Sequence[Part], schema: pa.Schema) -> bytes:
    """What `rows` is told, as bytes."""
    return json.dumps({"columns": schema.serialize().to_pybytes().hex(), "parts": parts}).encode()


def rows(argument: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The rows of parts of files, in these columns and types. Unlike if they have others."""
    schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(argument["columns"])))
    for part in argument["parts"]:
        yield from _rows(Part(*part), schema)


def _rows(part: Part, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(unquote(urlsplit(part.uri).path)) as file:
            _check(file, schema)
            groups = [i for i in range(file.num_row_groups) if 0 <= _begin(file, i) - part.start < part.length]
            for batch in file.iter_batches(_ROWS, groups, schema.names, use_threads=False) if groups else ():
                columns = [batch.column(each.name).cast(each.type) for each in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unlike(f"cannot read {part.uri}: {error}") from error


def _begin(file: pq.ParquetFile, group: int) -> int:
    """Where a row group begins."""
    column = file.metadata.row_group(group).column(0)
    return min(each for each in (column.dictionary_page_offset, column.data_page_offset) if each)


def _check(file: pq.ParquetFile, schema: pa.Schema) -> None:
    """Unlike unless a file has the columns of a schema, in types that Spark reads as these."""
    there, said = file.schema_arrow, file.metadata.metadata or {}
    for field in schema:
        places = there.get_all_field_indices(field.name)
        if len(places) != 1 or not _is_read_as(there.field(places[0]).type, field.type):
            raise Unlike(f"column {field.name} is not {field.type}")
    version = re.match(rb"(\d+)", said.get(_SPARK, b"3"))
    if any(key in said for key in _LEGACY) or version is None or int(version[1]) < 3:
        raise Unlike("its days may be those of another calendar")


def _is_read_as(there: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Arrow's cast of values of a type gives what Spark reads."""
    if pa.types.is_timestamp(there) and pa.types.is_timestamp(wanted):
        return there.unit in ("us", "ms") and (there.tz is None) == (wanted.tz is None)
    if pa.types.is_dictionary(there):
        there = there.value_type
    if pa.types.is_decimal(there) and pa.types.is_decimal(wanted):  # however many bits hold them
        return (there.precision, there.scale) == (wanted.precision, wanted.scale)
    return bool(there == wanted or (pa.types.is_large_string(there) and pa.types.is_string(wanted)))
