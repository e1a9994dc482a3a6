"""The rows that DuckDB answers with, taken over some at a time, so that they cannot fill the memory of the machine.

DuckDB counts what it needs itself against its limit, but not the rows that it hands over: `FROM range(10^12)` would end
the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import duckdb
import pyarrow as pa

from ivm.catalog.errors import MemoryLimitError, UnsupportedError

_AT_ONCE = 1 << 17


def reader_of(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """What reads an answer, which begins to be computed. UnsupportedError for types that Arrow does not take over."""
    try:
        return relation.to_arrow_reader(_AT_ONCE)
    except pa.ArrowException as error:
        raise UnsupportedError(
            f"cannot run the query: Arrow does not take over the types of its result: {error}; cast what has very many "
            "levels of lists and structs to JSON"
        ) from error


def rows_of(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of an answer. Errors are DuckDB's, also where Arrow, which asks for the rows, has made others."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (OSError, pa.ArrowException) as error:
            kind = _KINDS.get(str(error).partition(" Error:")[0], duckdb.InvalidInputException)
            raise kind(str(error)) from error
        yield batch


def not_too_many(batches: Iterable[pa.RecordBatch], most: int) -> list[pa.RecordBatch]:
    """All batches. MemoryLimitError if together they take more than so many bytes."""
    found, size, rows = [], 0, 0
    for batch in batches:
        found.append(batch)
        size, rows = size + batch.nbytes, rows + batch.num_rows
        if size > most:
            raise MemoryLimitError(
                f"cannot run the query: it gives more than {rows:,} rows, which take {size >> 20:,} MiB, as much as a "
                "result may take on this machine; ask for fewer, with LIMIT or aggregates, or for some at a time"
            )
    return found


_KINDS: dict[str, type[duckdb.Error]] = {
    "IO": duckdb.IOException, "HTTP": duckdb.HTTPException, "Out of Memory": duckdb.OutOfMemoryException,
    "Permission": duckdb.PermissionException, "INTERRUPT": duckdb.InterruptException,
    "INTERNAL": duckdb.InternalException, "FATAL": duckdb.FatalException,
}  # fmt: skip
"""By how their words begin, the errors that are no one's who has written the query or the rows."""
